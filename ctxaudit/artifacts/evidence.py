"""What attribution methods read: ablations or token distances."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from ctxaudit.artifacts import parquet
from ctxaudit.artifacts.subset_scores import read_ablations
from ctxaudit.interface import Evidence, TokenDistances


def read(kind: str, path: str | Path) -> Sequence[Evidence]:
    """What an attribution method reads: the artifact that its `EVIDENCE` names."""
    return read_ablations(path) if kind == "ablations" else read_token_distances(path)


def read_token_distances(path: str | Path) -> list[TokenDistances]:
    """Token distances, one per example, in file order."""
    return [
        TokenDistances(
            example_id=row["example_id"],
            distances=np.stack(list(row["distances"])).astype(np.float64),
            matches=np.stack(list(row["matches"])).astype(bool),
            source=np.asarray(row["source"], dtype=np.int64),
            num_sources=int(row["num_sources"]),
        )
        for row in parquet.read(path).to_dict("records")
    ]


def write_token_distances(path: str | Path, distances: Iterable[TokenDistances]) -> None:
    """One row per example; distances as lists of float32."""
    rows = [
        (
            item.example_id,
            list(item.distances.astype(np.float32)),
            list(item.matches),
            item.source,
            item.num_sources,
        )
        for item in distances
    ]
    columns = ["example_id", "distances", "matches", "source", "num_sources"]
    parquet.write(path, pd.DataFrame(rows, columns=columns))
