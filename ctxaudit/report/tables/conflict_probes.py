"""Can conflicting evidence be told from consistent by the hidden states?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxaudit.reasons import count_reasons
from ctxaudit.report import estimates
from ctxaudit.report.frames import Frames

if TYPE_CHECKING:
    import pandas as pd

STUDY = "conflict"
READS = ("probes",)

LENGTH_LAYER = -1
"""Where a probe table keeps its length baseline."""

COLUMNS = (
    "model",
    "conflict_type",
    "best_layer",
    "best_auc",
    "best_auc_sd",
    "layer_0_auc",
    "length_auc",
    "unconverged",
    "n",
    "undefined",
    "reasons",
)


def build(frames: Frames) -> pd.DataFrame:
    """One row per model and conflict type (paper, figure 2).

    `n` counts pairs; `undefined` and `unconverged` count layers, the length baseline among them.
    """
    import pandas as pd

    rows = [
        {"model": model, "conflict_type": conflict_type, **_summary(found)}
        for (model, conflict_type), found in frames["probes"].groupby(["model", "conflict_type"])
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"best_layer": "Int64"})


def _summary(found: pd.DataFrame) -> dict[str, Any]:
    auc = found.set_index("layer")["auc"].astype(float)
    layers = found[(found["layer"] != LENGTH_LAYER) & found["auc"].notna()]
    best = layers.sort_values(["auc", "layer"], ascending=[False, True]).head(1)
    return {
        "best_layer": None if best.empty else int(best["layer"].iloc[0]),
        "best_auc": estimates.mean(best["auc"]),
        "best_auc_sd": estimates.mean(best["auc_sd"]),
        "layer_0_auc": auc.get(0, float("nan")),
        "length_auc": auc.get(LENGTH_LAYER, float("nan")),
        "unconverged": int((found["auc"].notna() & ~found["converged"].astype(bool)).sum()),
        "n": int(found["num_pairs"].max()),
        "undefined": int(found["auc"].isna().sum()),
        "reasons": count_reasons(found["reason"]),
    }
