"""Artifacts of one kind as one table, for the report's tables and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxaudit import columns
from ctxaudit.interface import METRIC_COLUMNS

if TYPE_CHECKING:
    import pandas as pd

Frames = Mapping[str, "pd.DataFrame"]
"""What a table or figure reads: one frame per kind in its `READS`."""

COLUMNS: dict[str, tuple[str, ...]] = {
    "metrics": ("dataset", "model", *METRIC_COLUMNS),
    "recall": ("dataset", "model", *columns.RECALL),
    "scores": (
        "dataset",
        "model",
        "variant",
        "method",
        "example_id",
        "source",
        "provenance",
        "score",
        "label",
        "reason",
    ),
    "examples": (
        "dataset",
        "example_id",
        "num_sources",
        "smoothed",
        "smoothing_fault",
        "smoothing_outcome",
    ),
    "candidates": ("dataset", "corpus", "example_id", "similarity", "relevance", "reason"),
    "conflict_accuracy": ("model", "steering", *columns.ACCURACY),
    "balance": ("model", "steering", *columns.BALANCE),
    "probes": ("model", "conflict_type", *columns.PROBES),
}
"""Columns that a frame of each kind has at least."""


def read(kind: str, files: Sequence[str]) -> pd.DataFrame:
    """All artifacts of one kind, one below the other, with at least `COLUMNS[kind]`.

    Examples take their dataset from the file's name, candidates their dataset and corpus from
    `<dataset>/<corpus>.jsonl`.

    Raises:
        ValueError: if a file lacks one of the columns.
    """
    import pandas as pd

    parts = [_read_one(kind, Path(file)) for file in files]
    for file, part in zip(files, parts, strict=True):
        if missing := set(COLUMNS[kind]) - set(part.columns):
            raise ValueError(f"{file}: {kind} without {', '.join(sorted(missing))}")
    empty = pd.DataFrame(columns=list(COLUMNS[kind]))
    filled = [part for part in parts if len(part)]
    return pd.concat(filled, ignore_index=True) if filled else empty


def _read_one(kind: str, path: Path) -> pd.DataFrame:
    import pandas as pd

    from ctxaudit.artifacts import parquet

    if kind not in {"examples", "candidates"}:
        return parquet.read(path)
    rows = _examples(path) if kind == "examples" else _candidates(path)
    return pd.DataFrame(rows, columns=list(COLUMNS[kind]))


def _examples(path: Path) -> list[dict[str, Any]]:
    from ctxaudit.artifacts import records

    return [
        {
            "dataset": path.stem,
            "example_id": example.id,
            "num_sources": len(example.sources),
            "smoothed": example.tags.get("smoothed", ""),
            "smoothing_fault": example.tags.get("smoothing_fault", ""),
            "smoothing_outcome": example.tags.get("smoothing_outcome", ""),
        }
        for example in records.read_examples(path)
    ]


def _candidates(path: Path) -> list[dict[str, Any]]:
    from ctxaudit.artifacts import records

    return [
        {
            "dataset": path.parent.name,
            "corpus": path.stem,
            "example_id": candidate.example_id,
            "similarity": candidate.similarity,
            "relevance": candidate.relevance,
            "reason": candidate.reason,
        }
        for candidate in records.read_candidates(path)
    ]
