"""The fields of a raw record, checked as they are read."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ctxaudit.artifacts import raw_records
from ctxaudit.errors import UserError


@dataclass(frozen=True, slots=True)
class Record:
    """An object of a raw file; every access checks what it gives and names its place on a fault.

    Attributes:
        place: File and line or number.
        default_id: Name of a record that has none of its own.
        fields: What it holds.
        path: Where the object stands within the record, such as `passages[2].`, else empty.
    """

    place: str
    default_id: str
    fields: Mapping[str, Any]
    path: str = ""

    def fault(self, field: str, reason: str) -> UserError:
        """An error that names place and field."""
        return UserError(f"{self.place}: {self.path}{field}: {reason}")

    def has(self, field: str) -> bool:
        """Whether a field is there and not null."""
        return self.fields.get(field) is not None

    def string(self, field: str) -> str:
        """Text as it is, which may be blank."""
        return self.checked(field, self.fields.get(field))

    def text(self, field: str) -> str:
        """Text as it is, not blank."""
        value = self.fields.get(field)
        if not isinstance(value, str) or not value.strip():
            raise self._unexpected(field, "non-empty text", value)
        return self.checked(field, value)

    def name(self, field: str) -> str:
        """An id: text, or a whole number of any size written as text."""
        value = self.fields.get(field)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if isinstance(value, float):
            raise self._unexpected(field, "text or a whole number, since a float rounds ids", value)
        return self.text(field)

    def whole(self, field: str) -> int:
        """A whole number."""
        value = self.fields.get(field)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._unexpected(field, "a whole number", value)
        return value

    def flag(self, field: str) -> bool:
        """True or false."""
        value = self.fields.get(field)
        if not isinstance(value, bool):
            raise self._unexpected(field, "true or false", value)
        return value

    def items(self, field: str) -> list[Any]:
        """A list."""
        value = self.fields.get(field)
        if not isinstance(value, list):
            raise self._unexpected(field, "a list", value)
        return value

    def strings(self, field: str) -> list[str]:
        """A list of texts, which may be blank."""
        return [self.checked(f"{field}[{n}]", item) for n, item in enumerate(self.items(field))]

    def object(self, field: str) -> "Record":
        """An object."""
        return self.inner(field, self.fields.get(field))

    def objects(self, field: str) -> list["Record"]:
        """A list of objects, or an object of equally long lists, as parquet tables spell it."""
        value = self.fields.get(field)
        rows = self._rows(field, value) if isinstance(value, dict) else self.items(field)
        return [self.inner(f"{field}[{number}]", row) for number, row in enumerate(rows)]

    def inner(self, field: str, value: Any) -> "Record":
        """A value that stands at a field, which must be an object."""
        if not isinstance(value, dict):
            raise self._unexpected(field, "an object", value)
        return replace(self, fields=value, path=f"{self.path}{field}.")

    def checked(self, field: str, value: Any) -> str:
        """A value that stands at a field, which must be text that can be written."""
        if not isinstance(value, str):
            raise self._unexpected(field, "text", value)
        # JSON can spell half a surrogate pair, which no output file can hold.
        if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
            raise self.fault(field, "holds a character that is not valid Unicode")
        return value

    def _rows(self, field: str, columns: Mapping[str, Any]) -> list[dict[str, Any]]:
        lists = [column for column in columns.values() if isinstance(column, list)]
        if len(lists) < len(columns) or len({len(column) for column in lists}) > 1:
            raise self.fault(field, "expected a list of objects, or lists of one length")
        return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]

    def _unexpected(self, field: str, expected: str, value: Any) -> UserError:
        got = f"got {value!r:.80}" if value is not None or field in self.fields else "it is missing"
        return self.fault(field, f"expected {expected}, {got}")


def read(path: str) -> Iterator[Record]:
    """Records of a raw file or folder, streamed."""
    return (Record(raw.place, raw.default_id, raw.fields) for raw in raw_records.read(path))
