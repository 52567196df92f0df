from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxaudit.metrics.ranking import draws, mean_over_top_k, rank, rbo, rbo_of_chance


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def rbo_by_the_infinite_sum(first, second, rho: float) -> float:
    """(1 - p) sum p^(d-1) agreement(d), the last depth's agreement carried on."""
    total, agreement = 0.0, 0.0
    for depth in range(1, 2000):
        if depth <= len(first):
            agreement = len(set(first[:depth]) & set(second[:depth])) / depth
        total += (1 - rho) * rho ** (depth - 1) * agreement
    return total


@given(st.permutations(range(6)), st.sampled_from([0.3, 0.5, 0.8, 0.95]))
def test_rbo_equals_the_infinite_sum(order: list[int], rho: float):
    first, second = np.arange(6), np.array(order)
    # 0.95^2000 is below 1e-44, so the truncated sum is exact to rounding.
    assert rbo(first, second, rho) == pytest.approx(rbo_by_the_infinite_sum(first, second, rho))


def test_rbo_of_short_and_of_changed_lists_equals_the_infinite_sum():
    for n in range(1, 6):
        first = np.arange(n)
        for order in permutations(range(n)):
            expected = rbo_by_the_infinite_sum(first, np.array(order), 0.7)
            assert rbo(first, np.array(order), 0.7) == pytest.approx(expected)


@pytest.mark.parametrize("n", [1, 2, 6, 30])
def test_identical_lists_have_rbo_1(n: int):
    assert rbo(np.arange(n), np.arange(n), 0.5) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(("rho", "expected"), [(0.5, 0.328), (0.8, 0.615)])
def test_chance_of_six_sources(rho: float, expected: float):
    assert rbo_of_chance(6, rho) == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_chance_equals_the_mean_over_all_rankings(n: int):
    first = np.arange(n)
    values = [rbo(first, np.array(order), 0.6) for order in permutations(range(n))]
    assert rbo_of_chance(n, 0.6) == pytest.approx(np.mean(values))


def test_ranks_by_falling_score():
    assert rank(np.array([0.1, 3.0, -2.0, 1.0]), rng()).tolist() == [1, 3, 0, 2]


def test_ties_alone_are_drawn_several_times():
    assert len(draws(np.array([1.0, 2.0, 3.0]), rng(), 20)) == 1
    assert len(draws(np.array([1.0, 2.0, 1.0]), rng(), 20)) == 20
    assert len(draws(np.array([0.0, -0.0]), rng(), 20)) == 20


def test_equal_scores_come_first_equally_often():
    firsts = [rank(np.zeros(4), generator)[0] for generator in [rng()] for _ in range(4000)]
    counts = np.bincount(firsts, minlength=4)
    # Standard deviation 27; five of them.
    np.testing.assert_allclose(counts, 1000, atol=137)


def test_a_tie_across_the_border_is_averaged():
    value = mean_over_top_k(
        np.array([5.0, 1.0, 1.0]), 2, lambda top: float(top[1]), rng=rng(), num_tie_draws=4000
    )
    # Standard error 0.008; five of them.
    assert value == pytest.approx(0.5, abs=0.04)


def test_undefined_with_nan_scores_or_too_few_sources():
    def always(_):
        return 1.0

    assert np.isnan(mean_over_top_k(np.ones(2), 3, always, rng=rng(), num_tie_draws=5))
    assert np.isnan(mean_over_top_k(np.full(3, np.nan), 1, always, rng=rng(), num_tie_draws=5))
