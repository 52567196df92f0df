"""What the contexts are made of: segments, smoothing, and what the judge thought of candidates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ctxaudit.reasons import count_reasons
from ctxaudit.report import estimates, outcomes
from ctxaudit.report.frames import Frames

if TYPE_CHECKING:
    import pandas as pd

STUDY = "overlap"
READS = ("examples", "candidates")

COLUMNS = (
    *("dataset", "measure", "value", "unit"),
    *outcomes.OF_CONTEXTS,
    *("n", "undefined", "reasons"),
)


def build(frames: Frames) -> pd.DataFrame:
    """One row per dataset and measure; `unit` says what `n` and `undefined` count."""
    import pandas as pd

    rows = [
        outcomes.with_reasons(row, outcomes.of_contexts(frames, row["dataset"]))
        for row in (*_context_rows(frames["examples"]), *_candidate_rows(frames["candidates"]))
    ]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.sort_values("dataset", kind="stable", ignore_index=True)


def _context_rows(examples: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for dataset, found in examples.groupby("dataset"):
        smoothed = found["smoothed"].map({"yes": 1.0, "no": 0.0})
        faults = found["smoothing_fault"]
        unknown = smoothed.isna() & (faults == "")
        for name, values, reasons in (
            ("segments per context", found["num_sources"], []),
            ("share smoothed", smoothed, faults.mask(unknown, "not recorded")),
        ):
            yield {"dataset": dataset, "measure": name, "unit": "contexts"} | _row(values, reasons)


def _candidate_rows(candidates: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for (dataset, corpus), found in candidates.groupby(["dataset", "corpus"]):
        for name in ("similarity", "relevance"):
            reasons = found.loc[found[name].isna(), "reason"]
            measure = {"dataset": dataset, "measure": f"{name}, {corpus} corpus"}
            yield measure | {"unit": "candidates"} | _row(found[name], reasons)


def _row(values: pd.Series[Any], reasons: Any) -> dict[str, Any]:
    return {
        "value": estimates.mean(values),
        "n": len(values),
        "undefined": int(values.isna().sum()),
        "reasons": count_reasons(reasons),
    }
