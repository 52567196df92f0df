"""Rows of metric tables."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ctxaudit.interface import METRIC_COLUMNS, FloatArray

Row = Mapping[str, Any]


def row(
    metric: str,
    method: str,
    variant: str,
    parameter: str,
    *,
    value: float,
    reason: str,
    defined: FloatArray,
) -> Row:
    """One row.

    Args:
        metric: Component of the metric.
        method: Attribution method.
        variant: base, tuned or both.
        parameter: Such as `k=1`.
        value: The number, NaN where it is undefined.
        reason: Why the value is NaN; not shown where it is not.
        defined: (E,) per example, NaN where the example has no value.
    """
    return {
        "metric": metric,
        "method": method,
        "variant": variant,
        "parameter": parameter,
        "value": value,
        "reason": reason if np.isnan(value) else "",
        "num_examples": len(defined),
        "num_undefined": int(np.isnan(defined).sum()),
    }


def mean_row(
    metric: str, method: str, variant: str, parameter: str, *, values: FloatArray, reason: str
) -> Row:
    """A row with the mean of the examples' values (E,), those that are NaN left out.

    `reason` says why examples may have no value; it is shown where none has one.
    """
    return row(
        metric, method, variant, parameter, value=mean(values), reason=reason, defined=values
    )


def mean(values: FloatArray) -> float:
    """Mean of the values that are not NaN; NaN where there is none."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")


def table(rows: Iterable[Row]) -> pd.DataFrame:
    """Rows as a table with the columns that every metric has."""
    return pd.DataFrame(list(rows), columns=list(METRIC_COLUMNS))
