"""Replies that outlive jobs: one JSON file per request, never expired."""

import errno
import json
import math
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

from ctxaudit.artifacts import writing
from ctxaudit.llm.requests import Call, Completion, Finish
from ctxaudit.logs import logger

FOLDER = Path("results/store/responses")

_PROBE_BYTES = 2**16
"""More than most entries take."""


class ResponseStore:
    """Completions by the key of their call, safe for any number of readers and writers.

    An entry holds what was asked (`request`), what was read from the reply (`completion`), the
    reply as it came (`raw`), when (`received`, UTC) and which reservation of the ledger paid for
    it (`reservation`).
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def get(self, key: str) -> Completion | None:
        """The stored reply, or None; an unreadable entry counts as absent, with a warning."""
        entry = self.entry(key)
        if entry is None:
            return None
        reply = read(entry)
        if reply is None:
            logger.warning("%s: unreadable reply, asked again: not a completion", self.path(key))
        return reply

    def entry(self, key: str) -> dict[str, Any] | None:
        """All that is stored under a key, or None; likewise."""
        path = self.path(key)
        try:
            entry = json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as error:
            logger.warning("%s: unreadable reply, asked again: %s", path, error)
            return None
        return entry if isinstance(entry, dict) else None

    def put(
        self,
        call: Call,
        completion: Completion,
        *,
        raw: Mapping[str, Any] | None = None,
        reservation: str = "",
    ) -> Completion:
        """Keep a reply, unless an earlier one to the same call is there.

        Returns:
            The reply that is kept: tables may rest on the earlier one.
        """
        earlier = self.get(call.key)
        if earlier is not None:
            logger.warning("%s: a second reply to the same call is left out", self.path(call.key))
            return earlier
        self.put_entry(
            call.key,
            {
                "request": json.loads(call.canonical),
                "completion": asdict(completion),
                "raw": dict(raw or {}),
                "received": datetime.now(UTC).isoformat(timespec="seconds"),
                "reservation": reservation,
            },
        )
        return completion

    def put_entry(self, key: str, entry: Mapping[str, Any]) -> None:
        """Write an entry as a whole."""
        writing.write_json(self.path(key), entry)

    def check_writable(self, keys: Iterable[str]) -> None:
        """See that replies to these calls could be kept, before anybody pays for them.

        Raises:
            OSError: if one could not, as on a full disk or in a folder that is read-only.
        """
        paths = [self.path(key) for key in keys]
        for path in paths:
            if path.is_dir():
                raise IsADirectoryError(errno.EISDIR, "a folder in place of a reply", str(path))
        for folder in {path.parent for path in paths}:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder) as probe:
                probe.write(bytes(_PROBE_BYTES))
                probe.flush()
                os.fsync(probe.fileno())

    def __iter__(self) -> Iterator[str]:
        """The keys of all entries, sorted."""
        yield from sorted(path.stem for path in self.folder.glob("[0-9a-f][0-9a-f]/*.json"))

    def path(self, key: str) -> Path:
        """Where an entry lies."""
        return self.folder / key[:2] / f"{key}.json"


def read(entry: Mapping[str, Any]) -> Completion | None:
    """The completion of an entry, or None if it holds none."""
    try:
        reply = dict(entry["completion"])
        choices = tuple(map(float, reply.pop("choice_logprobs")))
        completion = Completion(**reply, choice_logprobs=choices)
    except (KeyError, TypeError, AttributeError, ValueError):
        return None
    texts = (completion.text, completion.model, completion.fingerprint)
    counts = (completion.prompt_tokens, completion.new_tokens)
    is_sound = (
        all(isinstance(text, str) for text in texts)
        and completion.finish in get_args(Finish)
        and all(count is None or (type(count) is int and count >= 0) for count in counts)
        and not any(map(math.isnan, choices))
    )
    return completion if is_sound else None
