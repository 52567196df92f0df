"""The only place that knows file formats: parquet for tables, safetensors for tensors, JSONL.

Every writer writes beside its target and renames, so a file is there whole or not at all.
"""

import contextlib
import json
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import safetensors.numpy

from ctxaudit.errors import UserError
from ctxaudit.interface import (
    Ablations,
    Answers,
    Attribution,
    BoolArray,
    Candidate,
    Evidence,
    Example,
    Passage,
    Response,
    Source,
    TokenDistances,
)

Record = TypeVar("Record")


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A temporary path in the same folder that becomes `path` if the block succeeds."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    new = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    try:
        yield new
        with new.open("rb") as stream:
            os.fsync(stream.fileno())
        new.replace(target)
    finally:
        new.unlink(missing_ok=True)


@contextlib.contextmanager
def replacing_folder(path: str | Path) -> Iterator[Path]:
    """The same for a folder; an older one is removed at the end."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    new = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    new.mkdir()
    try:
        yield new
        if target.exists():
            shutil.rmtree(target)
        new.replace(target)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def read_json(path: str | Path) -> Any:
    """Any JSON document."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UserError(f"{path}: not readable as JSON: {error}") from None


def write_json(path: str | Path, value: Any) -> None:
    """Any JSON document, keys sorted."""
    with replacing(path) as new:
        text = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False)
        new.write_text(text + "\n", encoding="utf-8")


def read_jsonl(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line number (from 1) and object of each non-empty line, streamed.

    Raises:
        UserError: naming file and line of what is not a JSON object.
    """
    try:
        with Path(path).open(encoding="utf-8") as stream:
            for number, line in enumerate(stream, start=1):
                if line.strip():
                    yield number, _parse_object(path, number, line)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from None


def write_jsonl(path: str | Path, records: Iterable[Mapping[str, Any]]) -> None:
    """One JSON object per line."""
    with replacing(path) as new, new.open("w", encoding="utf-8") as stream:
        for record in records:
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")


def read_examples(path: str | Path) -> list[Example]:
    """Examples in file order."""
    return [_example(record) for _, record in read_jsonl(path)]


def write_examples(path: str | Path, examples: Iterable[Example]) -> None:
    """Examples, one per line."""
    write_jsonl(path, map(asdict, examples))


def read_passages(path: str | Path) -> list[Passage]:
    """Passages in file order."""
    return [Passage(**record) for _, record in read_jsonl(path)]


def write_passages(path: str | Path, passages: Iterable[Passage]) -> None:
    """Passages, one per line."""
    write_jsonl(path, map(asdict, passages))


def read_candidates(path: str | Path) -> list[Candidate]:
    """Candidates in file order."""
    return [
        Candidate(
            **{
                **record,
                "passage": Passage(**record["passage"]),
                "relevance": _number(record["relevance"]),
            }
        )
        for _, record in read_jsonl(path)
    ]


def write_candidates(path: str | Path, candidates: Iterable[Candidate]) -> None:
    """Candidates, one per line; a NaN relevance is written as null."""
    write_jsonl(
        path,
        (
            {**asdict(c), "relevance": None if np.isnan(c.relevance) else c.relevance}
            for c in candidates
        ),
    )


def read_responses(path: str | Path) -> list[Response]:
    """Responses in file order."""
    return [Response(**record) for _, record in read_jsonl(path)]


def write_responses(path: str | Path, responses: Iterable[Response]) -> None:
    """Responses, one per line."""
    write_jsonl(path, map(asdict, responses))


def read_table(path: str | Path) -> pd.DataFrame:
    """Any parquet table."""
    return pd.read_parquet(path)


def write_table(path: str | Path, table: pd.DataFrame) -> None:
    """Any table as parquet."""
    with replacing(path) as new:
        table.to_parquet(new, index=False)


def read_ablations(path: str | Path) -> list[Ablations]:
    """Ablation tables, one per example, in file order."""
    return [
        Ablations(
            example_id=str(name),
            masks=_masks(rows["mask"]),
            logprobs=np.stack(list(rows["logprobs"])).astype(np.float64),
            has_end_token=bool(rows["has_end_token"].iloc[0]),
        )
        for name, rows in _by_example(read_table(path))
    ]


def write_ablations(path: str | Path, ablations: Sequence[Ablations]) -> None:
    """One row per example and mask: `example_id`, `mask` ("101"), `logprobs`, `has_end_token`."""
    rows = [
        (item.example_id, mask, logprobs, item.has_end_token)
        for item in ablations
        for mask, logprobs in zip(_mask_text(item.masks), item.logprobs, strict=True)
    ]
    columns = ["example_id", "mask", "logprobs", "has_end_token"]
    write_table(path, pd.DataFrame(rows, columns=columns))


def read_answers(path: str | Path) -> list[Answers]:
    """Answer tables, one per example, in file order."""
    return [
        Answers(
            example_id=str(name),
            masks=_masks(rows["mask"]),
            scores=np.stack(list(rows["scores"])).astype(np.float64),
            gold_index=int(rows["gold_index"].iloc[0]),
        )
        for name, rows in _by_example(read_table(path))
    ]


def write_answers(path: str | Path, answers: Sequence[Answers]) -> None:
    """One row per example and mask: `example_id`, `mask`, `scores` (C), `gold_index`."""
    rows = [
        (item.example_id, mask, scores, item.gold_index)
        for item in answers
        for mask, scores in zip(_mask_text(item.masks), item.scores, strict=True)
    ]
    write_table(path, pd.DataFrame(rows, columns=["example_id", "mask", "scores", "gold_index"]))


def read_evidence(kind: str, path: str | Path) -> Sequence[Evidence]:
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
        for row in read_table(path).to_dict("records")
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
    write_table(path, pd.DataFrame(rows, columns=columns))


def read_attributions(path: str | Path) -> list[Attribution]:
    """Attributions in file order."""
    return [
        Attribution(
            example_id=row["example_id"],
            scores=np.asarray(row["scores"], dtype=np.float64),
            labels=tuple(row["labels"]),
            reason=row["reason"],
            masks=_masks(row["masks"]).reshape(len(row["masks"]), len(row["scores"])),
        )
        for row in read_table(path).to_dict("records")
    ]


def write_attributions(path: str | Path, attributions: Iterable[Attribution]) -> None:
    """One row per example: `example_id`, `scores`, `labels`, `reason`, `masks` ("101")."""
    rows = [
        (item.example_id, item.scores, list(item.labels), item.reason, _mask_text(item.masks))
        for item in attributions
    ]
    columns = ["example_id", "scores", "labels", "reason", "masks"]
    write_table(path, pd.DataFrame(rows, columns=columns))


def read_tensors(path: str | Path) -> dict[str, npt.NDArray[Any]]:
    """Named arrays of a safetensors file."""
    return dict(safetensors.numpy.load_file(path))


def write_tensors(path: str | Path, tensors: Mapping[str, npt.NDArray[Any]]) -> None:
    """Named arrays as safetensors."""
    with replacing(path) as new:
        safetensors.numpy.save_file(
            {name: np.ascontiguousarray(array) for name, array in tensors.items()}, new
        )


def _parse_object(path: str | Path, number: int, line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise UserError(f"{path}:{number}: not valid JSON: {error.msg}") from None
    if not isinstance(value, dict):
        raise UserError(f"{path}:{number}: expected a JSON object, got {type(value).__name__}")
    return value


def _example(record: dict[str, Any]) -> Example:
    sources = tuple(Source(**source) for source in record["sources"])
    return Example(**{**record, "sources": sources, "choices": tuple(record["choices"])})


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _by_example(table: pd.DataFrame) -> Any:
    return table.groupby("example_id", sort=False)


def _masks(texts: Iterable[str]) -> BoolArray:
    return np.array([[bit == "1" for bit in text] for text in texts], dtype=bool)


def _mask_text(masks: BoolArray) -> list[str]:
    return ["".join("1" if keep else "0" for keep in mask) for mask in masks]
