"""A chat endpoint on this machine that answers by a script, and remembers all that it was sent."""

import json
import struct
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SO_LINGER, SOL_SOCKET
from typing import Any, TypeVar

MODEL = "judge-2026-01-01"
NEW_TOKENS = 2


def chat(content: str | None, finish: str = "stop", **message: Any) -> dict[str, Any]:
    """A body as OpenAI's endpoint sends it."""
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": MODEL,
        "system_fingerprint": "fp_1",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": content, **message},
            }
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": NEW_TOKENS, "total_tokens": 5},
    }


@dataclass(frozen=True)
class Action:
    """What the server does with one request.

    Attributes:
        body: JSON or text of the reply; None repeats the last message.
        status: HTTP status.
        headers: Further headers.
        seconds: Waited before.
        broken: Reset the connection in the middle of the body.
    """

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    broken: bool = False


@dataclass(frozen=True)
class Received:
    """A request as it came."""

    content: str
    body: dict[str, Any]
    authorization: str
    time: float


class ScriptedServer(ThreadingHTTPServer):
    """Answers by `first`, then by content of the last message, and then by `usual`."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), self.handler())
        self.first: list[Action] = []
        self.script: dict[str, list[Action]] = {}
        self.usual = Action()
        self.received: list[Received] = []
        self.answered: list[str] = []
        self.lock = threading.Lock()

    @staticmethod
    def handler() -> type[BaseHTTPRequestHandler]:
        return Handler

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def play(self, content: str, actions: Sequence[Action]) -> None:
        self.script[content] = list(actions)

    def contents(self) -> list[str]:
        return [received.content for received in self.received]

    def times(self) -> dict[str, int]:
        """How often each content was sent."""
        counts: dict[str, int] = defaultdict(int)
        for content in self.contents():
            counts[content] += 1
        return dict(counts)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed is no fault of the server."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ScriptedServer

    def do_POST(self) -> None:
        body = json.loads(self.read_body())
        content = body["messages"][-1]["content"]
        server = self.server
        with server.lock:
            server.received.append(
                Received(content, body, self.headers["Authorization"], time.monotonic())
            )
            actions = server.first or server.script.get(content)
            action = actions.pop(0) if actions else server.usual
        time.sleep(action.seconds)
        reply = chat(content) if action.body is None else action.body
        payload = (reply if isinstance(reply, str) else json.dumps(reply)).encode()
        if action.status == 200:
            with server.lock:
                server.answered.append(content)
        self.reply(action, payload)

    def read_body(self) -> bytes:
        return self.rfile.read(int(self.headers["Content-Length"]))

    def reply(self, action: Action, payload: bytes) -> None:
        self.send_response(action.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        for name, value in action.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if action.broken:
            self.wfile.write(payload[: len(payload) // 2])
            self.wfile.flush()
            # Closing without lingering sends a reset.
            self.connection.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            return
        self.wfile.write(payload)

    def log_message(self, *arguments: Any) -> None:
        pass


Server = TypeVar("Server", bound=ScriptedServer)


@contextmanager
def running(kind: type[Server]) -> Iterator[Server]:
    """A server in a thread."""
    server = kind()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
