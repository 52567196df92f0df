"""The scripted server, with files and batches."""

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.llm.scripted_server import Action, Handler, ScriptedServer, chat

Request = dict[str, Any]
"""One line of an input file."""

PAGE = 2
"""Batches per page of the list."""


@dataclass(frozen=True)
class Stage:
    """What one look at a batch shows; the last stage stays."""

    status: str
    output: bytes | None = None
    error: bytes | None = None
    errors: Sequence[dict[str, Any]] = ()


Fate = Callable[[Sequence[Request]], Sequence[Stage]]


def content(request: Request) -> str:
    return str(request["body"]["messages"][-1]["content"])


def lines(values: Iterable[Any]) -> bytes | None:
    """A file, or None: an endpoint makes no empty ones."""
    return b"".join(json.dumps(value).encode() + b"\n" for value in values) or None


def answered(request: Request, body: Any = None, status: int = 200) -> dict[str, Any]:
    """A line that holds a response."""
    body = chat(content(request)) if body is None else body
    response = {"status_code": status, "request_id": "r", "body": body}
    return {"id": "1", "custom_id": request["custom_id"], "response": response, "error": None}


def unanswered(request: Request, code: str) -> dict[str, Any]:
    """A line that holds no response."""
    error = {"code": code, "message": "no"}
    return {"id": "1", "custom_id": request["custom_id"], "response": None, "error": error}


def completed(requests: Sequence[Request]) -> Sequence[Stage]:
    return [Stage("in_progress"), Stage("completed", lines(map(answered, requests)))]


@dataclass
class Batch:
    fields: dict[str, Any]
    requests: list[Request]
    stages: list[Stage]


@dataclass
class Gate:
    """Holds the server at a step, so that a client can be killed there."""

    step: str = ""
    reached: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)

    def pass_by(self, step: str) -> None:
        if step == self.step:
            self.reached.set()
            self.go.wait(60)


class BatchServer(ScriptedServer):
    """Batches end by `fates`, in the order of their creation, and then by `completed`.

    Attributes:
        faults: By step: what is answered instead of the reply, after or before it is done.
    """

    def __init__(self) -> None:
        super().__init__()
        self.fates: list[Fate] = []
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, Batch] = {}
        self.faults: dict[str, list[Action]] = {}
        self.gate = Gate()
        self.keeps_metadata = True
        self.log: list[str] = []

    @staticmethod
    def handler() -> type[BaseHTTPRequestHandler]:
        return _Handler

    def submitted(self) -> Counter[str]:
        """How often each content was part of a batch that was made."""
        every = (request for batch in self.batches.values() for request in batch.requests)
        return Counter(map(content, every))

    def sizes(self) -> list[int]:
        return [len(batch.requests) for batch in self.batches.values()]

    def cancel(self, name: str) -> None:
        self.batches[name].stages[:] = [Stage("cancelled")]

    def keep(self, payload: bytes) -> str:
        name = f"file-{len(self.files)}"
        self.files[name] = payload
        return name

    def show(self, payload: bytes | None) -> str | None:
        """The name of a file that we made, the same for the same content."""
        if payload is None:
            return None
        same = (name for name, held in self.files.items() if held == payload)
        return next(same, None) or self.keep(payload)

    def create(self, asked: dict[str, Any]) -> dict[str, Any]:
        requests = [json.loads(line) for line in self.files[asked["input_file_id"]].splitlines()]
        fate = self.fates.pop(0) if self.fates else completed
        fields = {
            "id": f"batch_{len(self.batches)}",
            "object": "batch",
            "created_at": 1,
            "endpoint": asked["endpoint"],
            "completion_window": asked["completion_window"],
            "input_file_id": asked["input_file_id"],
            "metadata": asked["metadata"] if self.keeps_metadata else None,
            "status": "validating",
        }
        self.batches[fields["id"]] = Batch(fields, requests, list(fate(requests)))
        return fields

    def look(self, name: str) -> dict[str, Any]:
        batch = self.batches[name]
        stage = batch.stages.pop(0) if len(batch.stages) > 1 else batch.stages[0]
        done = {"total": len(batch.requests), "completed": len(stage.output or b""), "failed": 0}
        return {
            **batch.fields,
            "status": stage.status,
            "request_counts": done,
            "output_file_id": self.show(stage.output),
            "error_file_id": self.show(stage.error),
            "errors": {"object": "list", "data": list(stage.errors)} if stage.errors else None,
        }

    def page(self, after: str) -> dict[str, Any]:
        """A page of the list, the newest first."""
        names = list(reversed(self.batches))
        start = names.index(after) + 1 if after else 0
        data = [self.batches[name].fields for name in names[start : start + PAGE]]
        return {"object": "list", "data": data, "has_more": start + PAGE < len(names)}


class _Handler(Handler):
    server: BatchServer

    def do_POST(self) -> None:  # noqa: N802  (http.server's name)
        if self.path == "/v1/files":
            payload = _file_in(self.read_body())
            self._do("upload", lambda: {"id": self.server.keep(payload), "object": "file"})
        elif self.path == "/v1/batches":
            asked = json.loads(self.read_body())
            self._do("create", lambda: self.server.create(asked))
        else:
            super().do_POST()

    def do_GET(self) -> None:  # noqa: N802
        url = urlsplit(self.path)
        *_, kind, name = url.path.removesuffix("/content").split("/")
        if name == "batches":
            after = parse_qs(url.query).get("after", [""])[0]
            self._do("list", lambda: self.server.page(after))
        elif kind == "batches":
            self._do("look", lambda: self.server.look(name))
        else:
            self._do("download", lambda: self.server.files[name])

    def _do(self, step: str, act: Callable[[], Any]) -> None:
        """Do a step, with its gates before and after, and its faults."""
        server = self.server
        server.gate.pass_by(f"before {step}")
        with server.lock:
            server.log.append(step)
            before = server.faults.get(f"before {step}")
            after = server.faults.get(f"after {step}")
            fault = before.pop(0) if before else None
            try:
                result = {} if fault else act()
            except KeyError:
                fault, result = Action(body={"error": {"message": "?"}}, status=404), {}
            if not fault and after:
                fault = after.pop(0)
        server.gate.pass_by(f"after {step}")
        payload = result if isinstance(result, bytes) else json.dumps(result).encode()
        if fault and fault.body is not None:
            said = fault.body if isinstance(fault.body, str) else json.dumps(fault.body)
            payload = said.encode()
        self.reply(fault or Action(), payload)


def _file_in(form: bytes) -> bytes:
    """The one file of a form."""
    boundary = form.split(b"\r\n", 1)[0]
    parts = [part for part in form.split(boundary) if b"filename=" in part]
    assert len(parts) == 1
    assert b'name="purpose"' in form
    assert re.search(rb"\r\n\r\nbatch\r\n", form)
    return parts[0].split(b"\r\n\r\n", 1)[1].removesuffix(b"\r\n")
