"""Rows of metric tables."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ctxaudit.interface import METRIC_COLUMNS, FloatArray
from ctxaudit.reasons import count_reasons

Row = Mapping[str, Any]


def row(
    metric: str,
    method: str,
    variant: str,
    parameter: str,
    *,
    value: float,
    reasons: Sequence[str],
    reason: str = "",
) -> Row:
    """One row.

    Args:
        metric: Component of the metric.
        method: Attribution method.
        variant: base, tuned or both.
        parameter: Such as `k=1`.
        value: The number, NaN where it is undefined.
        reasons: (E,) why each example has no value, empty where it has one.
        reason: Why the number is NaN for all examples together; not shown where it is not.
    """
    counted = count_reasons(reasons)
    missing = np.isnan(value)
    why = [reason or ("" if counted else "no example")] if missing else []
    return {
        "metric": metric,
        "method": method,
        "variant": variant,
        "parameter": parameter,
        "value": value,
        "reason": "; ".join(filter(None, [*why, counted])),
        "num_examples": len(reasons),
        "num_undefined": sum(map(bool, reasons)),
    }


def mean_row(
    metric: str,
    method: str,
    variant: str,
    parameter: str,
    *,
    values: FloatArray,
    reasons: Sequence[str],
    reason: str = "",
) -> Row:
    """A row with the mean of the examples' values (E,), those that are NaN left out."""
    return row(
        metric, method, variant, parameter, value=mean(values), reasons=reasons, reason=reason
    )


def mean(values: FloatArray) -> float:
    """Mean of the values that are not NaN; NaN where there is none."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")


def table(rows: Iterable[Row]) -> pd.DataFrame:
    """Rows as a table with the columns that every metric has."""
    return pd.DataFrame(list(rows), columns=list(METRIC_COLUMNS))
