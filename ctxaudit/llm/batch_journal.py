"""Which batches were submitted, kept so that a killed job's batches are found again.

A batch passes through `planned` (before its upload), `uploaded`, `submitted` and `closed`. Its
calls are kept in a file of its own until it is closed, so that any job can store their replies.
"""

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ctxaudit.artifacts import jsonl
from ctxaudit.llm import requests
from ctxaudit.llm.journal import Journal, Line
from ctxaudit.llm.requests import Call


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A batch that is not closed.

    Attributes:
        id: Our name of it, which the endpoint keeps as the batch's metadata.
        model: Provider and model.
        time: Seconds since the epoch, of its last step.
        file: The endpoint's name of the uploaded file, or empty.
        remote: The endpoint's name of the batch, or empty.
    """

    id: str
    model: str
    time: float
    file: str = ""
    remote: str = ""


class BatchJournal:
    """The batches of all jobs.

    Args:
        folder: Of the journal and the files of calls.
        clock: Seconds since the epoch.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._clock = clock
        self._path = folder / "journal.jsonl"
        self._journal: Journal | None = None
        self._open: dict[str, Submission] = {}

    def plan(self, name: str, model: str, calls: Sequence[Call]) -> Submission:
        """Enter a batch that will be uploaded."""
        submission = Submission(id=name, model=model, time=self._clock())
        # First: what is entered has its calls.
        jsonl.write(self.path(name), (json.loads(call.canonical) for call in calls))
        self._enter({"event": "planned", **asdict(submission)})
        return submission

    def uploaded(self, submission: Submission, file: str) -> Submission:
        """Enter that its file is at the endpoint, under this name."""
        return self._step(submission, "uploaded", file=file)

    def submitted(self, submission: Submission, remote: str) -> Submission:
        """Enter that the endpoint has the batch, under this name."""
        return self._step(submission, "submitted", remote=remote)

    def close(self, submission: Submission, end: str) -> None:
        """Enter that nothing more is to come of a batch."""
        self._enter({"event": "closed", "id": submission.id, "end": end})
        self.path(submission.id).unlink(missing_ok=True)

    def open(self) -> dict[str, Submission]:
        """The batches that are not closed, by our name of them."""
        if self._journal or self._path.exists():
            self._enter()
        return dict(self._open)

    def calls(self, submission: Submission) -> dict[str, Call] | None:
        """The calls of a batch by their key, in their order, or None if their file was deleted."""
        if not self.path(submission.id).exists():
            return None
        lines = jsonl.read(self.path(submission.id))
        found = (requests.recall(content, submission.model) for _, content in lines)
        return {call.key: call for call in found}

    def path(self, name: str) -> Path:
        """The file of a batch's calls."""
        return self._folder / f"{name}.jsonl"

    def _step(self, submission: Submission, event: str, **names: str) -> Submission:
        fields = {**names, "time": self._clock()}
        self._enter({"event": event, "id": submission.id, **fields})
        return self._open.get(submission.id, submission)

    def _enter(self, *lines: Line) -> None:
        self._journal = self._journal or Journal(self._path)
        with self._journal.turn() as (news, append):
            self._journal.apply(news, self._apply)
            for line in lines:
                append(line, lasting=True)
                self._apply(line)

    def _apply(self, line: Line) -> None:
        fields = {name: value for name, value in line.items() if name != "event"}
        if line["event"] == "planned":
            self._open[line["id"]] = _sound(Submission(**fields))
        elif line["event"] == "closed":
            self._open.pop(line["id"], None)
        elif line["id"] in self._open:
            self._open[line["id"]] = _sound(replace(self._open[line["id"]], **fields))


def _sound(item: Submission) -> Submission:
    """The same, if its fields are what they should be."""
    texts = (item.id, item.model, item.file, item.remote)
    if not all(isinstance(text, str) for text in texts) or not math.isfinite(item.time):
        raise TypeError
    return item
