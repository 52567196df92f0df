"""JSON of any size, read as a stream: in memory is one value at a time, not the file."""

import json
import re
from collections.abc import Iterator
from typing import Any, TextIO

from ctxaudit.errors import UserError

_CHUNK = 1 << 17
_DECODER = json.JSONDecoder()
_BLANKS = re.compile(r"[ \t\r\n]*")

_LONGEST_ESCAPE = 16
"""Characters at the end of a chunk in which a literal, a number or an escape may be cut."""


class Cursor:
    """A position in a JSON text that moves forward only.

    `members` and `elements` stop at each value; who iterates reads it, by `value` or by going into
    it, before the next step. Faults are `UserError`s that name file and line.

    Attributes:
        line: Line of the position, from 1.
    """

    def __init__(self, stream: TextIO, name: str) -> None:
        self.line = 1
        self._stream, self._name = stream, name
        self._buffer, self._at = "", 0
        self._dropped = 0
        self._ended = False

    @property
    def position(self) -> int:
        """Characters before the position."""
        return self._dropped + self._at

    def skip(self, num_characters: int) -> None:
        """Move on without a look at what is passed."""
        while num_characters > len(self._buffer) - self._at and not self._ended:
            num_characters -= len(self._buffer) - self._at
            self._move(len(self._buffer))
            self._fill()
        self._move(self._at + num_characters)

    def peek(self) -> str:
        """The next character that is no white space; empty at the end."""
        while True:
            self._move(_BLANKS.match(self._buffer, self._at).end())  # type: ignore[union-attr]
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if self._ended:
                return ""
            self._fill()

    def value(self) -> Any:
        """The value that begins here, whole."""
        self.peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._buffer, self._at)
            except json.JSONDecodeError as error:
                if self._ended or not self._may_be_cut(error):
                    raise self._fault(error.msg, error.pos) from None
            except (ValueError, RecursionError) as error:
                raise self._fault(str(error), self._at) from None
            else:
                # What follows a number may belong to it.
                if self._ended or end + _LONGEST_ESCAPE <= len(self._buffer):
                    self._move(end)
                    return value
            self._fill()

    def elements(self) -> Iterator[int]:
        """Stop at each element of the array that begins here; its number, from 0."""
        self._take("[")
        if self.peek() == "]":
            self._take("]")
            return
        number = 0
        while True:
            yield number
            number += 1
            if self._take(",]") == "]":
                return

    def members(self) -> Iterator[str]:
        """Stop at each value of the object that begins here; its key."""
        self._take("{")
        if self.peek() == "}":
            self._take("}")
            return
        while True:
            if self.peek() != '"':
                raise self._fault("expected a key in double quotes", self._at)
            key: str = self.value()
            self._take(":")
            yield key
            if self._take(",}") == "}":
                return

    def _take(self, allowed: str) -> str:
        found = self.peek()
        if not found or found not in allowed:
            shown = f"got {found!r}" if found else "the file ends"
            raise self._fault(f"expected {' or '.join(allowed)}, {shown}", self._at)
        self._move(self._at + 1)
        return found

    def _may_be_cut(self, error: json.JSONDecodeError) -> bool:
        """Whether more of the file may mend what does not parse."""
        cut_string = error.msg.startswith("Unterminated string")
        return cut_string or error.pos + _LONGEST_ESCAPE >= len(self._buffer)

    def _fill(self) -> None:
        rest = self._buffer[self._at :]
        # As much again: a value of many chunks is parsed a few times, not once per chunk.
        more = self._stream.read(max(_CHUNK, len(rest)))
        self._dropped += self._at
        self._buffer, self._at = rest + more, 0
        self._ended = not more

    def _move(self, end: int) -> None:
        self.line += self._buffer.count("\n", self._at, end)
        self._at = end

    def _fault(self, reason: str, position: int) -> UserError:
        line = self.line + self._buffer.count("\n", self._at, position)
        return UserError(f"{self._name}:{line}: not valid JSON: {reason}")
