"""An endpoint's batches: uploading, creating, finding again, looking at and collecting them."""

import itertools
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from ctxaudit.config.endpoint import EndpointModel
from ctxaudit.errors import UserError
from ctxaudit.llm import batch_files, faults, redaction, retries
from ctxaudit.llm.batch_journal import Submission
from ctxaudit.llm.faults import RETRIED, CallError
from ctxaudit.logs import logger

_OUR_NAME = "ctxaudit"
_ENDED = {"completed", "failed", "expired", "cancelled"}
_MOST_PER_PAGE = 100

Found = TypeVar("Found")


class NotDoneError(UserError):
    """The endpoint failed for good at something.

    Attributes:
        may_be_done: Whether it may be done nevertheless.
    """

    def __init__(self, message: str, *, may_be_done: bool) -> None:
        super().__init__(message)
        self.may_be_done = may_be_done


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why an input file was refused, in words that hold no text of the server.

    Attributes:
        code: The endpoint's code, or `unnamed`.
        parameter: The parameter that it is about, or empty.
        line: The line that it is about, from 1, or 0.
    """

    code: str
    parameter: str
    line: int

    @property
    def words(self) -> str:
        """The same as text."""
        return self.code + (f" of '{self.parameter}'" if self.parameter else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What the endpoint says of a batch.

    Attributes:
        status: Its own word, or empty if it looks like none.
        ended: Whether nothing more is to come.
        num_done: Requests that were answered or failed so far.
        files: Names of the output and the error file, as far as there are any, in this order.
        refusals: Why its input file was refused.
    """

    status: str
    ended: bool
    num_done: int
    files: tuple[str, ...]
    refusals: tuple[Refusal, ...]


@contextmanager
def connection(model: EndpointModel) -> Iterator["BatchConnection"]:
    """An open client.

    Raises:
        UserError: naming the variable, if the environment holds no key.
    """
    import openai

    key = redaction.read_key(os.environ, model.key_variable, model.model)
    timeout = model.traffic.timeout_seconds
    with openai.OpenAI(
        api_key=key, base_url=model.base_url, max_retries=0, timeout=timeout
    ) as client:
        yield BatchConnection(model, client, key)


class BatchConnection:
    """Works on batches over an open client.

    Passing faults are tried again; each method raises `NotDoneError` if that does not help.
    """

    def __init__(self, model: EndpointModel, client: Any, key: str) -> None:
        self.key = key
        self._model = model
        self._client = client

    def upload(self, submission: Submission, content: bytes) -> str:
        """The endpoint's name of an uploaded input file."""
        file = (f"{submission.id}.jsonl", content)
        return self._tried(
            "uploading a batch",
            lambda: self._handle(self._client.files.create(file=file, purpose="batch").id),
        )

    def create(self, submission: Submission) -> str:
        """The endpoint's name of a new batch.

        After a fault the batch is looked for, since it may be there nevertheless.
        """
        is_first = True

        def attempt() -> str:
            nonlocal is_first
            found = None if is_first else self._find(submission)
            is_first = False
            return found or self._handle(
                self._client.batches.create(
                    input_file_id=submission.file,
                    endpoint=batch_files.ADDRESS,
                    completion_window="24h",
                    metadata={_OUR_NAME: submission.id},
                ).id
            )

        return self._tried("submitting a batch", attempt)

    def find(self, submission: Submission) -> str | None:
        """The endpoint's name of a batch that may have been created, or None."""
        return self._tried("looking for a batch", lambda: self._find(submission))

    def look(self, submission: Submission) -> State:
        """How a batch stands."""
        return self._tried(
            f"looking at batch {submission.remote}",
            lambda: self._state(self._client.batches.retrieve(submission.remote)),
        )

    def download(self, file: str) -> bytes:
        """The content of a file."""

        def attempt() -> bytes:
            content = bytes(self._client.files.content(file).content)
            # A page of some proxy in its place would make us ask, and pay, for all once more.
            json.loads(content.split(b"\n", 1)[0])
            return content

        return self._tried(f"collecting file {file}", attempt)

    def _state(self, found: Any) -> State:
        counts = found.request_counts
        errors = (found.errors.data if found.errors else None) or []
        return State(
            status=faults.name_in(found.status, self.key),
            ended=found.status in _ENDED,
            num_done=(counts.completed or 0) + (counts.failed or 0) if counts else 0,
            files=tuple(
                self._handle(file) for file in (found.output_file_id, found.error_file_id) if file
            ),
            refusals=tuple(self._refusal(error) for error in errors),
        )

    def _find(self, submission: Submission) -> str | None:
        seen: set[str] = set()
        for batch in self._client.batches.list(limit=_MOST_PER_PAGE):
            if batch.id in seen:
                break  # A server that knows no pages gives the first one for ever.
            seen.add(batch.id)
            is_named = (batch.metadata or {}).get(_OUR_NAME) == submission.id
            # Some servers keep no metadata; each file is uploaded for one batch.
            if is_named or batch.input_file_id == submission.file != "":
                return self._handle(batch.id)
        return None

    def _refusal(self, error: Any) -> Refusal:
        return Refusal(
            code=faults.name_in(error.code, self.key) or "unnamed",
            parameter=faults.name_in(error.param, self.key),
            line=error.line if isinstance(error.line, int) else 0,
        )

    def _handle(self, name: Any) -> str:
        """The endpoint's name of a file or batch, which we write down."""
        if not isinstance(name, str) or not name or redaction.redact(name, self.key) != name:
            raise ValueError
        return name

    def _tried(self, what: str, act: Callable[[], Found]) -> Found:
        """The result of what is done, tried as often as a call would be.

        Raises:
            NotDoneError: naming the fault, if it fails for good.
        """
        import openai

        for attempt in itertools.count(1):
            try:
                return act()
            # A body of another form fails where its fields are read.
            except (
                openai.OpenAIError,
                ValueError,
                AttributeError,
                TypeError,
                RecursionError,
            ) as error:
                fault = faults.classify(error, [], self.key)
            if fault.kind not in RETRIED or attempt >= self._model.traffic.max_attempts:
                raise self._given_up(what, fault, attempt) from None
            pause = self._model.traffic.batch.poll_seconds
            wait = max(pause, retries.seconds_to_wait(attempt, fault))
            logger.info("%s: %s: %s; again in %.1f s", self._model.model, what, fault.words, wait)
            time.sleep(wait)
        raise AssertionError("unreachable")

    def _given_up(self, what: str, fault: CallError, attempts: int) -> NotDoneError:
        return NotDoneError(
            f"{self._model.model} at {self._model.base_url}: {what}: {fault.words}, after "
            f"{attempts} attempt{'s' * (attempts > 1)}; what was submitted is kept, run again to "
            "go on",
            may_be_done=fault.kind in RETRIED,
        )
