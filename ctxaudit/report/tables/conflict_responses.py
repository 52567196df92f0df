"""Accuracy on reasoning conflicts, with what was not answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxaudit.reasons import count_reasons
from ctxaudit.report import estimates, outcomes
from ctxaudit.report.frames import Frames

if TYPE_CHECKING:
    import pandas as pd

STUDY = "conflict"
READS = ("conflict_accuracy",)

KEYS = ("model", "conflict_type", "steering")
COLUMNS = (
    *KEYS,
    "strict",
    "strict_low",
    "strict_high",
    "lenient",
    "unanswered",
    *outcomes.columns("model"),
    "n",
    "undefined",
    "reasons",
)


def build(frames: Frames) -> pd.DataFrame:
    """One row per model, conflict type and steering, the unsteered first (paper, table 4).

    `strict_low` and `strict_high` bound the 95 % Wilson interval; `unanswered` is a count, and
    `reasons` says why there was no answer.
    """
    import pandas as pd

    rows = []
    for key, found in frames["conflict_accuracy"].groupby(list(KEYS)):
        silent = found["outcome"] == "unanswered"
        low, high = estimates.wilson_interval(found["strict"])
        row = dict(zip(KEYS, key, strict=True)) | {
            "strict": estimates.mean(found["strict"]),
            "strict_low": low,
            "strict_high": high,
            "lenient": estimates.mean(found["lenient"]),
            "unanswered": int(silent.sum()),
            **outcomes.of_responses(found["finish"], silent),
            "n": len(found),
            "undefined": int(found["strict"].isna().sum()),
            "reasons": count_reasons(found["reason"]),
        }
        rows.append(row)
    rows.sort(key=lambda row: (row["model"], row["conflict_type"], row["steering"] != "none"))
    return pd.DataFrame(rows, columns=list(COLUMNS))
