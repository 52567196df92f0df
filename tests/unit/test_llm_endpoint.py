import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from ctxaudit.config import EndpointModel
from ctxaudit.errors import UserError
from ctxaudit.llm.endpoint import Endpoint
from ctxaudit.llm.requests import ChatRequest, Completion

SECRET = "sk-very-secret"  # noqa: S105


class Scripted(BaseHTTPRequestHandler):
    """Answers with what the server was told to."""

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        self.server.seen.append(json.loads(self.rfile.read(length)))
        status, body = self.server.script
        payload = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("JUDGE_KEY", SECRET)
    http = HTTPServer(("127.0.0.1", 0), Scripted)
    http.seen = []
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield http
    http.shutdown()
    thread.join()
    http.server_close()


def ask(server: Any) -> Completion:
    endpoint = Endpoint(
        EndpointModel(
            kind="endpoint",
            model="judge-1",
            base_url=f"http://127.0.0.1:{server.server_port}/v1",
            key_variable="JUDGE_KEY",
        )
    )
    request = ChatRequest(
        model="judge", messages=[{"role": "user", "content": "hi"}], max_new_tokens=9
    )
    ((at, reply),) = endpoint.complete([request], batch_size=1)
    assert at == 0
    return reply


def chat(content: str | None, finish: str, **message: Any) -> dict[str, Any]:
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "judge-1",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": content, **message},
            }
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    }


@pytest.mark.parametrize(
    ("body", "text", "finish"),
    [
        (chat("7", "stop"), "7", "stop"),
        (chat("7", "length"), "7", "length"),
        (chat(None, "content_filter"), "", "refusal"),
        (chat(None, "stop", refusal="no"), "no", "refusal"),
        ({**chat("", "stop"), "choices": []}, "", "error"),
    ],
)
def test_each_outcome_is_told_apart(server: Any, body: dict[str, Any], text: str, finish: str):
    server.script = (200, body)
    reply = ask(server)
    assert (reply.text, reply.finish, reply.prompt_tokens) == (text, finish, 3)
    assert server.seen[0]["model"] == "judge-1"
    assert server.seen[0]["max_tokens"] == 9
    assert server.seen[0]["temperature"] == 0


def test_a_failed_call_names_model_and_status_and_no_secret(server: Any):
    server.script = (400, {"error": {"message": f"bad key {SECRET}"}})
    with pytest.raises(UserError, match=r"judge-1 at .*status 400") as caught:
        ask(server)
    assert SECRET not in str(caught.value)


def test_a_missing_key_names_its_variable(server: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("JUDGE_KEY")
    with pytest.raises(UserError, match="JUDGE_KEY"):
        ask(server)
