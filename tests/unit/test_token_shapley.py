import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxaudit.ablation.masks import all_masks
from ctxaudit.attribution import token_shapley
from ctxaudit.attribution.token_shapley import Settings, knn_shapley
from ctxaudit.interface import TokenDistances
from ctxaudit.shapley.exact import exact

# The recursion and the enumeration are short float64 sums of numbers below 1.
TOLERANCE = 1e-9


def knn_utility(distances: np.ndarray, matches: np.ndarray, mask: np.ndarray, k: int) -> float:
    members = sorted(np.flatnonzero(mask), key=lambda point: distances[point])
    return float(sum(matches[point] for point in members[:k]) / k)


@given(st.integers(1, 7), st.integers(1, 8), st.integers(0, 1000))
def test_equals_enumeration_of_the_nearest_neighbour_game(n: int, k: int, seed: int):
    rng = np.random.default_rng(seed)
    distances, matches = rng.random((2, n)), rng.random((2, n)) < 0.5
    values = knn_shapley(distances, matches, num_neighbours=k, rng=rng)
    for test_point in range(2):
        row = distances[test_point], matches[test_point]
        utilities = np.array([knn_utility(*row, mask, k) for mask in all_masks(n)])
        expected = exact(all_masks(n), utilities)
        np.testing.assert_allclose(values[test_point], expected, atol=TOLERANCE)


def test_equal_distances_are_not_ordered_by_position():
    distances, matches = np.zeros((400, 2)), np.tile([True, False], (400, 1))
    rng = np.random.default_rng(0)
    values = knn_shapley(distances, matches, num_neighbours=1, rng=rng)
    # Nearer or farther by a coin: 1 or 1/2, so 0.75 on average; 0.05 is four standard errors.
    assert values[:, 0].mean() == pytest.approx(0.75, abs=0.05)


def tokens(distances, matches, source, num_sources: int) -> TokenDistances:
    return TokenDistances(
        example_id="q",
        distances=np.array(distances, dtype=float),
        matches=np.array(matches, dtype=bool),
        source=np.array(source, dtype=np.int64),
        num_sources=num_sources,
    )


def test_sources_sum_their_positive_tokens_and_one_without_tokens_has_0():
    evidence = tokens([[0.1, 0.2, 0.3]], [[True, False, True]], [0, 0, 2], 4)
    values = knn_shapley(
        evidence.distances, evidence.matches, num_neighbours=1, rng=np.random.default_rng(0)
    )[0]
    scores = token_shapley.attribute(evidence, Settings(num_neighbours=1), seed=0)
    assert values[1] < 0
    np.testing.assert_allclose(scores, [values[0], 0, values[2], 0])


@pytest.mark.parametrize("clip", ["after_sum", "before_sum"])
@pytest.mark.parametrize("aggregate", ["sum", "mean"])
def test_clipping_and_joining_in_the_order_of_the_settings(clip: str, aggregate: str):
    evidence = tokens([[0.1, 0.2], [0.2, 0.1]], [[1, 0], [0, 0]], [0, 1], 2)
    settings = Settings(num_neighbours=1, clip=clip, aggregate=aggregate)
    values = np.array([[1.0, 0.0], [0.0, 0.0]])
    # Row 1 by hand: the farther point's value is 0; the nearer gains (1 - 0) * 1.
    expected = values.sum(axis=0) if aggregate == "sum" else values.mean(axis=0)
    np.testing.assert_allclose(token_shapley.attribute(evidence, settings, seed=0), expected)


def test_clip_before_the_sum_ignores_what_a_token_loses_elsewhere():
    distances, matches = [[0.1, 0.2], [0.1, 0.2]], [[1, 0], [0, 1]]
    evidence = tokens(distances, matches, [0, 1], 2)
    after = token_shapley.attribute(evidence, Settings(num_neighbours=1), seed=0)
    before = token_shapley.attribute(
        evidence, Settings(num_neighbours=1, clip="before_sum"), seed=0
    )
    assert before[0] > after[0]


def test_no_context_token_gives_zeros_and_no_response_token_nan():
    none = tokens(np.zeros((2, 0)), np.zeros((2, 0)), [], 3)
    np.testing.assert_array_equal(token_shapley.attribute(none, Settings(), seed=0), np.zeros(3))
    silent = tokens(np.zeros((0, 2)), np.zeros((0, 2)), [0, 1], 2)
    assert np.isnan(token_shapley.attribute(silent, Settings(), seed=0)).all()
