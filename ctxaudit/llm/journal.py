"""JSON lines that several processes append to in turn.

Each process reads only what was added since it last looked. A line that a killed process left
unfinished is closed by the next one and skipped with a warning.
"""

import functools
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from filelock import SoftFileLease

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
        """
        with self._lock:
            self.path.touch()
            with self.path.open("r+b") as stream:
                yield self._news(stream), functools.partial(self._append, stream)

    def _news(self, stream: Any) -> list[Line]:
        stream.seek(self._read)
        *whole, torn = stream.read().split(b"\n")
        if torn:
            stream.write(b"\n")
            whole.append(torn)
        self._read = stream.tell()
        return [line for line in map(self._parse, whole) if line is not None]

    def _append(self, stream: Any, line: Line, *, lasting: bool) -> None:
        stream.write(json.dumps(line, sort_keys=True).encode() + b"\n")
        stream.flush()
        if lasting:
            os.fsync(stream.fileno())
        self._read = stream.tell()

    def _parse(self, text: bytes) -> Line | None:
        try:
            line = json.loads(text)
        except ValueError:
            line = None
        if not isinstance(line, dict):
            logger.warning("%s: a line that cannot be read is skipped", self.path)
            return None
        return line
