"""A store that cannot be written costs nothing, and one call's failure costs no other."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctxaudit.errors import UserError
from ctxaudit.llm.client import Client
from ctxaudit.llm.requests import Call
from ctxaudit.llm.store import ResponseStore
from tests.llm.scripted_server import Action, ScriptedServer

Open = Callable[..., Client]
Ask = Callable[..., Any]


def test_nothing_is_sent_that_could_not_be_stored(
    server: ScriptedServer, open_judge: Open, ask: Ask, tmp_path: Path
):
    client = open_judge()
    (call,) = client.calls([ask("a")])
    folder = tmp_path / "responses"
    folder.mkdir()
    # Root writes anywhere, but not into a file.
    (folder / call.key[:2]).touch()
    for _ in range(2):
        with pytest.raises(UserError, match=r"cannot be used.*run again to go on"):
            open_judge().complete([ask("a")])
    assert server.contents() == []


@pytest.mark.parametrize("kind", [OSError, RuntimeError])
def test_what_others_paid_for_is_kept_when_one_call_fails_unforeseen(
    server: ScriptedServer,
    open_judge: Open,
    ask: Ask,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: type[Exception],
):
    put = ResponseStore.put

    def full(self: ResponseStore, call: Call, *rest: Any, **more: Any) -> Any:
        if call.request.messages[-1]["content"] == "bad":
            raise kind("no space")
        return put(self, call, *rest, **more)

    monkeypatch.setattr(ResponseStore, "put", full)
    server.usual = Action(seconds=0.3)
    server.play("bad", [Action()])
    with pytest.raises(UserError if kind is OSError else kind, match="no space"):
        open_judge().complete([ask(text) for text in ("bad", "a", "b")])
    assert sorted(server.contents()) == ["a", "b", "bad"]
    stored = ResponseStore(tmp_path / "responses")
    assert len(list(stored)) == 2
