"""Reading single values out of a frame of metrics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Measure:
    """One value of a metric with its counts; `reason` says why it or an example's is NaN."""

    value: float
    num_examples: int
    num_undefined: int
    reason: str


def parameters(text: str) -> dict[str, str]:
    """`k=1, rho=0.5` as a mapping."""
    return dict(part.strip().split("=", maxsplit=1) for part in text.split(",") if "=" in part)


def parameter_values(metrics: pd.DataFrame, name: str) -> list[str]:
    """Values that a parameter takes, in the order of their numbers."""
    found = {parameters(text).get(name) for text in metrics["parameter"]}
    return sorted((value for value in found if value is not None), key=float)


def measure(rows: pd.DataFrame, metric: str, **wanted: str) -> Measure:
    """The metric's value at the wanted parameters; a parameter that it lacks does not bind it.

    Args:
        rows: Metrics of one dataset, model and method, and of one variant where both have it.
        metric: Name of the component.
        wanted: Parameter values as they are written.
    """
    matching = [
        row
        for row in rows[rows["metric"] == metric].to_dict("records")
        if all(wanted.get(name) == value for name, value in parameters(row["parameter"]).items())
    ]
    if not matching:
        return Measure(float("nan"), 0, 0, "not measured")
    row = matching[0]
    return Measure(
        float(row["value"]), int(row["num_examples"]), int(row["num_undefined"]), row["reason"]
    )


def summary(measures: Mapping[str, Measure]) -> dict[str, Any]:
    """Columns of a table row: the values, `n`, `undefined` and `reasons`.

    `n` is the largest number of examples behind a value and `undefined` the largest number of
    them without one; `reasons` names the values that each distinct reason is about.
    """
    found = list(measures.values())
    about = defaultdict(list)
    for name, item in measures.items():
        about[item.reason].append(name)
    return {
        **{name: item.value for name, item in measures.items()},
        "n": max(item.num_examples for item in found),
        "undefined": max(item.num_undefined for item in found),
        "reasons": "; ".join(
            f"{', '.join(names)} ({reason})" for reason, names in about.items() if reason
        ),
    }
