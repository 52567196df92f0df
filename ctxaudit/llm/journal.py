"""JSON lines that several processes append to in turn.

Each process reads only what was added since it last looked. A line that a killed process left
unfinished is closed by the next one and skipped with a warning.
"""

import functools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from filelock import SoftFileLease

from ctxaudit.errors import UserError
from ctxaudit.logs import logger

Line = Mapping[str, Any]


class Append(Protocol):
    """What adds a line."""

    def __call__(self, line: Line, *, lasting: bool) -> None:
        """Add it."""


_SECONDS_TO_TAKE_OVER = 30.0
_SECONDS_BETWEEN_TRIES = 0.002


class Journal:
    """A file of lines and the lock beside it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = SoftFileLease(
            str(path.with_suffix(".lock")),
            thread_local=False,
            poll_interval=_SECONDS_BETWEEN_TRIES,
            lease_duration=_SECONDS_TO_TAKE_OVER,
        )
        self._read = 0

    @contextmanager
    def turn(self) -> Iterator[tuple[list[Line], Append]]:
        """Hold the lock: what others added since the last turn, and how to add a line.

        A lasting line is on the disk when it is added, so that it outlives its machine too.

        Raises:
            UserError: where a line is added, if this process stood still for so long that another
                took the lock.
        """
        # Opened so that, whatever becomes of the lock, lines are added and never written over.
        with self._lock, self.path.open("a+b") as stream:
            yield self._news(stream), functools.partial(self._append, stream)

    def apply(self, lines: Iterable[Line], apply: Callable[[Line], None]) -> None:
        """Apply what others added; a line that holds no event is skipped with a warning."""
        for line in lines:
            try:
                apply(line)
            except (KeyError, TypeError, ValueError):
                self._skip()

    def _news(self, stream: Any) -> list[Line]:
        if os.fstat(stream.fileno()).st_size < self._read:
            self._read = 0  # Deleted under us: what is there now is new.
        stream.seek(self._read)
        *whole, torn = stream.read().split(b"\n")
        if torn:
            self._write(stream, b"\n")
            whole.append(torn)
        self._read = stream.tell()
        return [line for line in map(self._parse, whole) if line is not None]

    def _append(self, stream: Any, line: Line, *, lasting: bool) -> None:
        self._write(stream, json.dumps(line, sort_keys=True).encode() + b"\n")
        stream.flush()
        if lasting:
            os.fsync(stream.fileno())
        self._read = stream.tell()

    def _write(self, stream: Any, content: bytes) -> None:
        # The lock's own heartbeat finds a loss too late for a process that has just woken up.
        token = self._lock.token
        if token is None or token not in self._marker():
            raise UserError(
                f"{self.path}: this process stood still for so long that another job took its "
                "lock, so nothing more is written; all replies are kept, run again to go on"
            )
        stream.write(content)

    def _marker(self) -> str:
        try:
            return Path(self._lock.lock_file).read_text("utf-8", "replace")
        except FileNotFoundError:
            return ""

    def _skip(self) -> None:
        logger.warning("%s: a line that cannot be read is skipped", self.path)

    def _parse(self, text: bytes) -> Line | None:
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            line = None
        if not isinstance(line, dict):
            self._skip()
            return None
        return line
