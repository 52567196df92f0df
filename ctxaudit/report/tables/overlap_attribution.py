"""Consistency and task-level quality of the attribution methods."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from ctxaudit.report import outcomes
from ctxaudit.report.frames import Frames
from ctxaudit.report.measures import measure, parameter_values, summary

if TYPE_CHECKING:
    import pandas as pd

STUDY = "overlap"
READS = ("metrics", "examples", "candidates")

MEASURES = ("cac", "cac_chance", "gain", "util", "rmi", "bcs", "aps")
COLUMNS = (
    *("dataset", "model", "method", "k", "rho", *MEASURES),
    *outcomes.OF_CONTEXTS,
    *("n", "undefined", "reasons"),
)


def build(frames: Frames) -> pd.DataFrame:
    """One row per dataset, model, method, k and persistence rho (paper, table 1)."""
    import pandas as pd

    metrics = frames["metrics"]
    # Util, RmI and BCS are about the base model, CAC and APS about both; Drop@k also has a k.
    metrics = metrics[metrics["metric"].isin(MEASURES) & metrics["variant"].isin(["base", "both"])]
    rows = []
    for (dataset, model, method), found in metrics.groupby(["dataset", "model", "method"]):
        replies = outcomes.of_contexts(frames, dataset)
        sizes = parameter_values(found, "k")
        persistences = parameter_values(found, "rho")
        for k, rho in itertools.product(sizes or [""], persistences or [""]):
            row = {
                "dataset": dataset,
                "model": model,
                "method": method,
                "k": int(k) if k else None,
                "rho": float(rho or "nan"),
                **summary({name: measure(found, name, k=k, rho=rho) for name in MEASURES}),
            }
            rows.append(outcomes.with_reasons(row, replies))
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"k": "Int64"})
