"""JSON lines: one object per line."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ctxaudit.artifacts.writing import replacing
from ctxaudit.errors import UserError


def read(path: str | Path) -> Iterator[tuple[int, dict[str, Any]]]:
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


def write(path: str | Path, records: Iterable[Mapping[str, Any]]) -> None:
    """One JSON object per line."""
    with replacing(path) as new, new.open("w", encoding="utf-8") as stream:
        for record in records:
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")


def _parse_object(path: str | Path, number: int, line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise UserError(f"{path}:{number}: not valid JSON: {error.msg}") from None
    except (ValueError, RecursionError):
        raise UserError(
            f"{path}:{number}: not valid JSON: a number too long, or nested too deeply"
        ) from None
    if not isinstance(value, dict):
        raise UserError(f"{path}:{number}: expected a JSON object, got {type(value).__name__}")
    return value
