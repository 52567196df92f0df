from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxaudit.ablation.masks import all_masks
from ctxaudit.shapley.exact import exact

# The routine is a sum of at most 2^n products in float64.
TOLERANCE = 1e-9


def random_values(num_players: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(scale=50, size=2**num_players)


def permutation_average(values: np.ndarray, num_players: int) -> np.ndarray:
    """Mean marginal contribution over all orders in which the players can join."""
    total = np.zeros(num_players)
    orders = list(permutations(range(num_players)))
    for order in orders:
        coalition = 0
        for player in order:
            total[player] += values[coalition | 1 << player] - values[coalition]
            coalition |= 1 << player
    return total / len(orders)


@pytest.mark.parametrize("num_players", [1, 2, 3, 5])
def test_equals_the_average_over_all_permutations(num_players: int):
    values = random_values(num_players, seed=num_players)
    expected = permutation_average(values, num_players)
    np.testing.assert_allclose(exact(all_masks(num_players), values), expected, atol=TOLERANCE)


@given(st.integers(1, 8), st.integers(0, 1000))
def test_efficiency(num_players: int, seed: int):
    values = random_values(num_players, seed)
    phi = exact(all_masks(num_players), values)
    assert phi.sum() == pytest.approx(values[-1] - values[0], abs=TOLERANCE)


def test_symmetric_players_get_the_same():
    masks = all_masks(4)
    first_two = masks[:, 0].astype(int) + masks[:, 1]
    phi = exact(masks, first_two**2 + 3.0 * masks[:, 2] * first_two)
    assert phi[0] == pytest.approx(phi[1], abs=TOLERANCE)


def test_a_null_player_gets_nothing():
    masks = all_masks(5)
    values = random_values(5, seed=1)
    without = masks.copy()
    without[:, 3] = False
    ignoring_3 = values[without @ (1 << np.arange(5))]
    assert exact(masks, ignoring_3)[3] == pytest.approx(0, abs=TOLERANCE)


def test_additivity():
    masks = all_masks(6)
    first, second = random_values(6, seed=2), random_values(6, seed=3)
    separate = exact(masks, first) + exact(masks, second)
    np.testing.assert_allclose(exact(masks, first + second), separate, atol=TOLERANCE)


def test_glove_game_in_closed_form():
    masks = all_masks(3)
    pairs = masks[:, 0] & (masks[:, 1] | masks[:, 2])
    np.testing.assert_allclose(exact(masks, pairs.astype(float)), [2 / 3, 1 / 6, 1 / 6])


def test_the_order_of_the_rows_does_not_matter():
    masks, values = all_masks(5), random_values(5, seed=4)
    order = np.random.default_rng(0).permutation(len(masks))
    np.testing.assert_array_equal(exact(masks[order], values[order]), exact(masks, values))


@pytest.mark.parametrize("spoil", ["missing", "infinite"])
def test_undefined_without_every_finite_value(spoil: str):
    masks, values = all_masks(3), random_values(3, seed=5)
    if spoil == "missing":
        masks, values = masks[1:], values[1:]
    else:
        values[2] = -np.inf
    assert np.isnan(exact(masks, values)).all()
