"""Do the methods tell in-weight from in-context-only sources?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxaudit.report import outcomes
from ctxaudit.report.frames import Frames
from ctxaudit.report.measures import measure, summary

if TYPE_CHECKING:
    import pandas as pd

STUDY = "overlap"
READS = ("metrics", "examples", "candidates")


def build(frames: Frames) -> pd.DataFrame:
    """One row per dataset, model and method: SSP and AUC on the tuned model (paper, figure 2)."""
    import pandas as pd

    metrics = frames["metrics"]
    metrics = metrics[metrics["metric"].isin(["ssp", "auc"]) & (metrics["variant"] == "tuned")]
    keys = ["dataset", "model", "method"]
    rows = []
    for key, found in metrics.groupby(keys):
        measures = {name: measure(found, name) for name in ("ssp", "auc")}
        row = dict(zip(keys, key, strict=True)) | summary(measures)
        rows.append(outcomes.with_reasons(row, outcomes.of_contexts(frames, row["dataset"])))
    columns = [*keys, "ssp", "auc", *outcomes.OF_CONTEXTS, "n", "undefined", "reasons"]
    return pd.DataFrame(rows, columns=columns)
