"""Records of a raw file, whatever holds them: JSON lines, a JSON array or parquet."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ctxaudit.artifacts import containers
from ctxaudit.artifacts.json_stream import Cursor
from ctxaudit.errors import UserError


@dataclass(frozen=True, slots=True)
class RawRecord:
    """A record as it stands in its file.

    Attributes:
        place: File with line, or with number where lines say nothing, for messages.
        default_id: `<file name up to its first dot>-<number from 1>`.
        fields: The record.
    """

    place: str
    default_id: str
    fields: dict[str, Any]


def read(path: str | Path) -> Iterator[RawRecord]:
    """Records of a file, or of all files of a folder by name, streamed.

    Raises:
        UserError: naming file and place of what cannot be read or is no record.
    """
    for file in containers.files(path):
        stem = file.name.split(".", maxsplit=1)[0]
        for number, (place, value) in enumerate(_values(file), start=1):
            if not isinstance(value, dict):
                raise UserError(f"{place}: expected a JSON object, got {type(value).__name__}")
            yield RawRecord(place=place, default_id=f"{stem}-{number}", fields=value)


def _values(file: Path) -> Iterator[tuple[str, Any]]:
    if containers.is_parquet(file):
        rows = containers.parquet_rows(file)
        yield from ((f"{file}: record {number}", row) for number, row in enumerate(rows, start=1))
        return
    with containers.open_text(file) as stream:
        cursor = Cursor(stream, str(file))
        if cursor.peek() == "[":
            for number in cursor.elements():
                yield f"{file}: record {number + 1}", cursor.value()
        while cursor.peek():
            place = f"{file}:{cursor.line}"
            yield place, cursor.value()
