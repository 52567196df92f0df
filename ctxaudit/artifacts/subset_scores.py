"""Scores under subsets of the sources: of responses (ablations) and of options (answers)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ctxaudit.artifacts import mask_text, parquet
from ctxaudit.interface import Ablations, Answers


def read_ablations(path: str | Path) -> list[Ablations]:
    """Ablation tables, one per example, in file order."""
    return [
        Ablations(
            example_id=str(name),
            masks=mask_text.parse(rows["mask"]),
            logprobs=np.stack(list(rows["logprobs"])).astype(np.float64),
            has_end_token=bool(rows["has_end_token"].iloc[0]),
        )
        for name, rows in _by_example(parquet.read(path))
    ]


def write_ablations(path: str | Path, ablations: Sequence[Ablations]) -> None:
    """One row per example and mask: `example_id`, `mask` ("101"), `logprobs`, `has_end_token`."""
    rows = [
        (item.example_id, mask, logprobs, item.has_end_token)
        for item in ablations
        for mask, logprobs in zip(mask_text.show(item.masks), item.logprobs, strict=True)
    ]
    columns = ["example_id", "mask", "logprobs", "has_end_token"]
    parquet.write(path, pd.DataFrame(rows, columns=columns))


def read_answers(path: str | Path) -> list[Answers]:
    """Answer tables, one per example, in file order."""
    return [
        Answers(
            example_id=str(name),
            masks=mask_text.parse(rows["mask"]),
            scores=np.stack(list(rows["scores"])).astype(np.float64),
            gold_index=int(rows["gold_index"].iloc[0]),
        )
        for name, rows in _by_example(parquet.read(path))
    ]


def write_answers(path: str | Path, answers: Sequence[Answers]) -> None:
    """One row per example and mask: `example_id`, `mask`, `scores` (C), `gold_index`."""
    rows = [
        (item.example_id, mask, scores, item.gold_index)
        for item in answers
        for mask, scores in zip(mask_text.show(item.masks), item.scores, strict=True)
    ]
    parquet.write(path, pd.DataFrame(rows, columns=["example_id", "mask", "scores", "gold_index"]))


def _by_example(table: pd.DataFrame) -> Any:
    return table.groupby("example_id", sort=False)
