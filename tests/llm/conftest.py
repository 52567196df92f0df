from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxaudit.llm import retries
from ctxaudit.llm.calling import Calling
from ctxaudit.llm.client import Client, open_client
from ctxaudit.llm.requests import ChatRequest
from tests.llm import scripted_server
from tests.llm.batch_server import BatchServer
from tests.llm.scripted_server import MODEL, ScriptedServer

# It looks like the code of an error, as hexadecimal keys do.
SECRET = "f0b02c75b57c5855da9ae460ce513235"  # noqa: S105


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    monkeypatch.setenv("JUDGE_KEY", SECRET)
    monkeypatch.setattr(retries, "_FIRST_SECONDS", 0.01)
    with scripted_server.running(ScriptedServer) as running:
        yield running


@pytest.fixture
def open_judge(server: ScriptedServer, tmp_path: Path) -> Callable[..., Client]:
    """Opens a client of the server with a store and ledger in the test's folder."""

    def opened(settings: dict[str, Any] | None = None, **changes: Any) -> Client:
        return open_at(server, tmp_path, settings, changes)

    return opened


@pytest.fixture
def secret() -> str:
    return SECRET


@pytest.fixture
def batch_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchServer]:
    monkeypatch.setenv("JUDGE_KEY", SECRET)
    monkeypatch.setattr(retries, "_FIRST_SECONDS", 0.01)
    with scripted_server.running(BatchServer) as running:
        yield running
        running.gate.go.set()


@pytest.fixture
def open_batched(batch_server: BatchServer, tmp_path: Path) -> Callable[..., Client]:
    """The same, with the settings of batches as further arguments."""

    def opened(
        settings: dict[str, Any] | None = None,
        *,
        traffic: dict[str, Any] | None = None,
        entry: dict[str, Any] | None = None,
        **batch: Any,
    ) -> Client:
        batch = {"enabled": True, "poll_seconds": 0.01, **batch}
        changes = {**(entry or {}), "traffic": {**(traffic or {}), "batch": batch}}
        return open_at(batch_server, tmp_path, settings, changes)

    return opened


def open_at(
    server: ScriptedServer, folder: Path, settings: dict[str, Any] | None, changes: dict[str, Any]
) -> Client:
    entry = {
        "kind": "endpoint",
        "model": MODEL,
        "base_url": server.base_url,
        "key_variable": "JUDGE_KEY",
        **changes,
    }
    return open_client(
        "judge",
        entry,
        [],
        Calling.model_validate({"llm": settings or {}}),
        store=folder / "responses",
        ledger=folder / "ledger.jsonl",
    )


@pytest.fixture
def ask() -> Callable[..., ChatRequest]:
    def build(text: str, **changes: Any) -> ChatRequest:
        fields = {"max_new_tokens": 9, **changes}
        return ChatRequest(model="judge", messages=[{"role": "user", "content": text}], **fields)

    return build
