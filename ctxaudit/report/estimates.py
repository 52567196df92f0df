"""Means, intervals and counts over values of which some may be undefined (NaN)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

SEED = 0
"""Of the report's resampling; fixed, so that equal artifacts give equal tables."""

_NUM_RESAMPLES = 10_000


def defined(values: Iterable[Any]) -> npt.NDArray[np.float64]:
    """The values that are not NaN, as float64."""
    array = np.array(list(values), dtype=np.float64)
    return array[~np.isnan(array)]


def mean(values: Iterable[Any]) -> float:
    """Mean of the defined values; NaN where there is none."""
    known = defined(values)
    return float(known.mean()) if known.size else float("nan")


def bootstrap_interval(values: Iterable[Any], *, seed: int) -> tuple[float, float]:
    """95 % percentile bootstrap interval of the mean over the defined values.

    NaN, NaN below two values: one says nothing about spread.
    """
    from scipy import stats

    known = defined(values)
    if known.size < 2:
        return float("nan"), float("nan")
    found = stats.bootstrap(
        (known,), np.mean, n_resamples=_NUM_RESAMPLES, method="percentile", rng=seed
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def wilson_interval(outcomes: Iterable[Any]) -> tuple[float, float]:
    """95 % score interval (Wilson, 1927) of a share of 0/1 outcomes; NaN, NaN without any."""
    from scipy import stats

    known = defined(outcomes)
    if not known.size:
        return float("nan"), float("nan")
    test = stats.binomtest(int(known.sum()), known.size)
    interval = test.proportion_ci(0.95, method="wilson")
    return float(interval.low), float(interval.high)
