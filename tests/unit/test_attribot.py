import numpy as np
import pytest

from ctxaudit.attribution import attribot
from ctxaudit.attribution.attribot import Settings


def test_an_additive_game_gives_the_weights(game):
    weights = np.array([2.0, -1.0, 0.5])
    scores = attribot.attribute(game(lambda mask: mask @ weights, 3), Settings(), seed=0)
    np.testing.assert_allclose(scores, weights, atol=1e-12)


def test_redundant_sources_hide_each_other(game):
    scores = attribot.attribute(game(lambda mask: float(mask.any()), 3), Settings(), seed=0)
    np.testing.assert_array_equal(scores, np.zeros(3))


def test_one_source_is_compared_with_no_context(random_ablations):
    ablations = random_ablations(1)
    empty, full = ablations.values()
    assert attribot.attribute(ablations, Settings(), seed=0) == pytest.approx([full - empty])


def test_plans_the_full_context_and_each_source_removed():
    masks = attribot.plan_masks(3, Settings(), seed=0)
    assert masks.sum(axis=1).tolist() == [3, 2, 2, 2]
