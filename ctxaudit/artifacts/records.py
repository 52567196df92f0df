"""Examples, passages, candidates and responses: one record per line."""

import math
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ctxaudit.artifacts import jsonl
from ctxaudit.interface import Candidate, ContextDocument, Example, Passage, Response, Source, Span


def read_examples(*paths: str | Path) -> list[Example]:
    """Examples in the order of the files and of their lines."""
    return [_example(record) for path in paths for _, record in jsonl.read(path)]


def write_examples(path: str | Path, examples: Iterable[Example]) -> None:
    """Examples, one per line."""
    jsonl.write(path, map(asdict, examples))


def read_passages(path: str | Path) -> list[Passage]:
    """Passages in file order."""
    return [Passage(**record) for _, record in jsonl.read(path)]


def write_passages(path: str | Path, passages: Iterable[Passage]) -> None:
    """Passages, one per line."""
    jsonl.write(path, map(asdict, passages))


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
        for _, record in jsonl.read(path)
    ]


def write_candidates(path: str | Path, candidates: Iterable[Candidate]) -> None:
    """Candidates, one per line; a NaN relevance is written as null."""
    jsonl.write(
        path,
        (
            {**asdict(c), "relevance": None if math.isnan(c.relevance) else c.relevance}
            for c in candidates
        ),
    )


def read_responses(path: str | Path) -> list[Response]:
    """Responses in file order."""
    return [Response(**record) for _, record in jsonl.read(path)]


def write_responses(path: str | Path, responses: Iterable[Response]) -> None:
    """Responses, one per line."""
    jsonl.write(path, map(asdict, responses))


def _example(record: dict[str, Any]) -> Example:
    return Example(
        **{
            **record,
            "sources": tuple(Source(**source) for source in record["sources"]),
            "choices": tuple(record["choices"]),
            "context": tuple(map(_document, record["context"])),
        }
    )


def _document(record: dict[str, Any]) -> ContextDocument:
    support = record["support"]
    return ContextDocument(
        **{
            **record,
            "units": _spans(record["units"]),
            "support": None if support is None else _spans(support),
            "answers": _spans(record["answers"]),
        }
    )


def _spans(pairs: list[list[int]]) -> tuple[Span, ...]:
    return tuple((start, end) for start, end in pairs)


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
