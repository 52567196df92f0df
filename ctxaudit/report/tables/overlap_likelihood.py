"""Faithfulness of the scores to the likelihood of the response."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxaudit.report import outcomes
from ctxaudit.report.frames import Frames
from ctxaudit.report.measures import measure, parameter_values, summary

if TYPE_CHECKING:
    import pandas as pd

STUDY = "overlap"
READS = ("metrics", "examples", "candidates")


def build(frames: Frames) -> pd.DataFrame:
    """One row per dataset, model, method and variant: Drop@k per k, and LDS (paper, table 2)."""
    import pandas as pd

    metrics = frames["metrics"]
    metrics = metrics[metrics["metric"].isin(["drop_at_k", "lds"])]
    drops = parameter_values(metrics[metrics["metric"] == "drop_at_k"], "k")
    names = [*(f"drop_{k}" for k in drops), "lds_held_out", "lds_all"]
    keys = ["dataset", "model", "method", "variant"]
    rows = []
    for key, found in metrics.groupby(keys):
        measures = [measure(found, "drop_at_k", k=k) for k in drops]
        measures += [measure(found, "lds", masks=masks) for masks in ("held-out", "all")]
        row = dict(zip(keys, key, strict=True)) | summary(dict(zip(names, measures, strict=True)))
        rows.append(outcomes.with_reasons(row, outcomes.of_contexts(frames, row["dataset"])))
    columns = [*keys, *names, *outcomes.OF_CONTEXTS, "n", "undefined", "reasons"]
    return pd.DataFrame(rows, columns=columns)
