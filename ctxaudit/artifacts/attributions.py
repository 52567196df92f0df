"""The scores that an attribution method gives to the sources."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from ctxaudit.artifacts import mask_text, parquet
from ctxaudit.interface import Attribution


def read(path: str | Path) -> list[Attribution]:
    """Attributions in file order."""
    return [
        Attribution(
            example_id=row["example_id"],
            scores=np.asarray(row["scores"], dtype=np.float64),
            labels=tuple(row["labels"]),
            reason=row["reason"],
            masks=mask_text.parse(row["masks"]).reshape(len(row["masks"]), len(row["scores"])),
        )
        for row in parquet.read(path).to_dict("records")
    ]


def write(path: str | Path, attributions: Iterable[Attribution]) -> None:
    """One row per example: `example_id`, `scores`, `labels`, `reason`, `masks` ("101")."""
    rows = [
        (item.example_id, item.scores, list(item.labels), item.reason, mask_text.show(item.masks))
        for item in attributions
    ]
    columns = ["example_id", "scores", "labels", "reason", "masks"]
    parquet.write(path, pd.DataFrame(rows, columns=columns))
