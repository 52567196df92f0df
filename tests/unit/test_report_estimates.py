import math

import numpy as np
import pytest
from scipy import stats

from ctxaudit.report import estimates

NAN = float("nan")


def test_the_mean_leaves_undefined_values_out_and_is_undefined_without_any():
    assert estimates.mean([1.0, NAN, 4.0]) == 2.5
    assert math.isnan(estimates.mean([NAN, None]))
    assert math.isnan(estimates.mean([]))


def test_the_bootstrap_interval_is_near_the_normal_one_and_repeats():
    values = np.random.default_rng(0).normal(size=400)
    low, high = estimates.bootstrap_interval([*values, NAN], seed=1)
    half = 1.96 * values.std() / math.sqrt(400)
    # 10,000 resamples leave a Monte-Carlo error of about 2 % of the half-width; 0.1 of it is ample.
    assert low == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert high == pytest.approx(values.mean() + half, abs=0.1 * half)
    assert (low, high) == estimates.bootstrap_interval(values, seed=1)


@pytest.mark.parametrize("values", [[], [NAN], [0.3], [0.3, NAN]])
def test_fewer_than_two_values_have_no_bootstrap_interval(values: list[float]):
    assert all(map(math.isnan, estimates.bootstrap_interval(values, seed=0)))


def test_equal_values_have_an_interval_of_no_width():
    assert estimates.bootstrap_interval([0.5, 0.5, 0.5], seed=0) == (0.5, 0.5)


@pytest.mark.parametrize(("num_right", "num"), [(0, 5), (3, 10), (10, 10)])
def test_the_wilson_interval_agrees_with_its_closed_form(num_right: int, num: int):
    z = stats.norm.ppf(0.975)
    share = num_right / num
    centre = (share + z**2 / (2 * num)) / (1 + z**2 / num)
    half = z / (1 + z**2 / num) * math.sqrt(share * (1 - share) / num + z**2 / (4 * num**2))
    outcomes = [1.0] * num_right + [0.0] * (num - num_right) + [NAN]
    found = estimates.wilson_interval(outcomes)
    # Both are closed forms: only rounding differs.
    assert found == pytest.approx((centre - half, centre + half), abs=1e-12)
