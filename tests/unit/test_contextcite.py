import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxaudit.attribution import contextcite
from ctxaudit.attribution.contextcite import Settings, fit

MANY = Settings(num_masks=512, alpha=1e-6)


def test_an_additive_game_is_recovered_with_its_intercept(game):
    weights = np.array([3.0, 0.0, -1.5, 0.7])
    ablations = game(lambda mask: mask @ weights - 20, 4, num_tokens=5)
    scores = contextcite.attribute(ablations, MANY, seed=0)
    # The penalty shrinks each weight by about alpha times tokens over the masks' spread.
    np.testing.assert_allclose(scores, weights, atol=1e-4)


@given(st.integers(0, 500), st.integers(1, 7), st.sampled_from([1e-3, 1e-2, 0.1, 1.0]))
def test_the_solution_meets_the_optimality_conditions(seed: int, num_sources: int, alpha: float):
    rng = np.random.default_rng(seed)
    masks = rng.random((64, num_sources)) < 0.5
    targets = rng.normal(scale=3, size=64) + 2 * masks[:, 0]
    spread = masks.std(axis=0)
    z = (masks - masks.mean(axis=0))[:, spread > 0] / spread[spread > 0]
    weights = (fit(masks, targets, alpha) * spread)[spread > 0]
    residual = targets - targets.mean() - z @ weights
    gradient = z.T @ residual / len(targets)
    active = weights != 0
    np.testing.assert_allclose(gradient[active], alpha * np.sign(weights[active]), atol=1e-6)
    assert (np.abs(gradient[~active]) <= alpha + 1e-6).all()


def test_alpha_acts_on_the_log_probability_per_token(game):
    def value(mask):
        return 0.05 * mask[0]

    short, long = game(value, 3, num_tokens=1), game(value, 3, num_tokens=10)
    assert contextcite.attribute(short, Settings(), seed=0)[0] > 0
    assert contextcite.attribute(long, Settings(), seed=0)[0] == 0


def test_masks_depend_on_number_of_sources_and_seed_only():
    first = contextcite.plan_masks(6, Settings(), seed=3)
    np.testing.assert_array_equal(first, contextcite.plan_masks(6, Settings(alpha=1), seed=3))
    assert (first != contextcite.plan_masks(6, Settings(), seed=4)).any()
    assert first.shape == (64, 6)


def test_a_mask_drawn_twice_counts_twice():
    masks = np.array([[True, False], [False, True], [True, True]])
    targets = np.array([1.0, 2.0, 5.0])
    repeats = [2, 1, 3]
    repeated = fit(np.repeat(masks, repeats, axis=0), np.repeat(targets, repeats), 0.01)
    assert not np.allclose(repeated, fit(masks, targets, 0.01))


def test_only_the_planned_masks_are_read(random_ablations):
    whole = random_ablations(8)
    planned = contextcite.plan_masks(8, Settings(), seed=0)
    rows = [(whole.masks == mask).all(axis=1).argmax() for mask in np.unique(planned, axis=0)]
    part = dataclasses.replace(whole, masks=whole.masks[rows], logprobs=whole.logprobs[rows])
    np.testing.assert_array_equal(
        contextcite.attribute(part, Settings(), seed=0),
        contextcite.attribute(whole, Settings(), seed=0),
    )
    fewer = dataclasses.replace(part, masks=part.masks[1:], logprobs=part.logprobs[1:])
    assert np.isnan(contextcite.attribute(fewer, Settings(), seed=0)).all()


@pytest.mark.parametrize("level", [0.0, -1e-12, -3e-8])
def test_a_response_that_is_always_certain_gives_zeros(game, level: float):
    scores = contextcite.attribute(game(lambda _: level, 4), Settings(), seed=0)
    np.testing.assert_array_equal(scores, np.zeros(4))
