"""How unequally the pieces of evidence contribute to a summary."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ctxaudit.reasons import count_reasons
from ctxaudit.report import estimates, outcomes
from ctxaudit.report.frames import Frames

if TYPE_CHECKING:
    import pandas as pd

STUDY = "conflict"
READS = ("balance",)

KEYS = ("model", "conflict_type", "steering")
COLUMNS = (
    *(*KEYS, "balance", "balance_low", "balance_high", "gain"),
    *outcomes.columns("model"),
    *("n", "undefined", "reasons"),
)


def build(frames: Frames) -> pd.DataFrame:
    """One row per model, conflict type and steering, the unsteered first (paper, table 4).

    `balance_low` and `balance_high` bound the 95 % bootstrap interval over examples; `gain` is the
    mean of v(all) - v(none) in nats, over all examples that have one.
    """
    import pandas as pd

    rows = []
    for key, found in frames["balance"].groupby(list(KEYS)):
        missing = found["balance"].isna()
        low, high = estimates.bootstrap_interval(found["balance"], seed=estimates.SEED)
        row = dict(zip(KEYS, key, strict=True)) | {
            "balance": estimates.mean(found["balance"]),
            "balance_low": low,
            "balance_high": high,
            "gain": estimates.mean(found["gain"]),
            **outcomes.of_responses(found["finish"]),
            "n": len(found),
            "undefined": int(missing.sum()),
            "reasons": count_reasons(found.loc[missing, "reason"]) or _no_interval(low),
        }
        rows.append(row)
    rows.sort(key=lambda row: (row["model"], row["conflict_type"], row["steering"] != "none"))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _no_interval(low: float) -> str:
    return "an interval needs two values" if math.isnan(low) else ""
