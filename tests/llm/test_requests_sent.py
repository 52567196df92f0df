"""What reaches the server, and what never leaves the environment."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from ctxaudit.config.endpoint import EndpointModel
from ctxaudit.errors import UserError
from ctxaudit.llm.client import Client
from tests.llm.conftest import SECRET
from tests.llm.scripted_server import MODEL, Action, ScriptedServer, chat

Open = Callable[..., Client]
Ask = Callable[..., Any]


def test_the_parameters_of_the_entry_are_sent_as_they_are(
    server: ScriptedServer, open_judge: Open, ask: Ask
):
    open_judge(sampling={"temperature": None, "top_p": 0.5, "seed": 3}).complete([ask("a")])
    assert server.received[0].body == {
        "model": MODEL,
        "messages": [{"role": "user", "content": "a"}],
        "max_tokens": 9,
        "top_p": 0.5,
        "seed": 3,
    }
    assert server.received[0].authorization == f"Bearer {SECRET}"


def test_what_is_null_is_not_sent_and_not_in_the_key(
    server: ScriptedServer, open_judge: Open, ask: Ask
):
    bare = open_judge(sampling={"temperature": None})
    bare.complete([ask("a")])
    assert "temperature" not in server.received[0].body
    assert bare.calls([ask("a")])[0].key != open_judge().calls([ask("a")])[0].key


def test_greedy_is_sent_and_openai_gets_the_newer_limit(
    server: ScriptedServer, open_judge: Open, ask: Ask
):
    open_judge(provider="openai").complete([ask("a")])
    body = server.received[0].body
    assert (body["temperature"], body["max_completion_tokens"]) == (0, 9)
    assert "max_tokens" not in body


def test_a_moved_server_of_one_provider_answers_from_the_store(
    server: ScriptedServer, open_judge: Open, ask: Ask
):
    open_judge(provider="lab").complete([ask("a")])
    moved = open_judge(
        provider="lab", base_url="http://elsewhere.invalid/v1", traffic={"max_attempts": 1}
    )
    assert moved.complete([ask("a")])[0].text == "a"


@pytest.mark.parametrize(
    ("url", "provider"),
    [
        ("https://api.openai.com/v1", "openai"),
        ("https://lab.openai.azure.com/openai/v1/", "azure"),
        ("https://api.anthropic.com/v1/", "anthropic"),
        ("https://generativelanguage.googleapis.com/v1beta/openai/", "google"),
        ("http://127.0.0.1:8000/v1", "local"),
        ("http://gpu7.lab.example:8000/v1", "gpu7.lab.example"),
    ],
)
def test_a_provider_is_named_by_its_host(url: str, provider: str):
    assert EndpointModel(kind="endpoint", model=MODEL, base_url=url).served_by == provider


@pytest.mark.parametrize(
    "name",
    ["gpt-4o-2024-08-06", "claude-sonnet-4-5-20250929", "gpt-4-0613", "gemini-preview-05-06"],
)
def test_a_dated_snapshot_is_taken(name: str):
    assert EndpointModel(kind="endpoint", model=name).model == name


@pytest.mark.parametrize("name", ["gpt-4o", "llama3:8b", "qwen3-235b-a22b", "gpt-4o-latest"])
def test_an_alias_is_refused_unless_allowed(name: str):
    with pytest.raises(ValidationError, match=rf"'{name}' has no date.*allow_alias"):
        EndpointModel(kind="endpoint", model=name)
    assert EndpointModel(kind="endpoint", model=name, allow_alias=True).model == name


@pytest.mark.parametrize(
    "url", ["https://me:word@host/v1", "https://host/v1?api-key=x", "host/v1", "file:///v1"]
)
def test_an_address_holds_no_secret(url: str):
    with pytest.raises(ValidationError, match="base_url"):
        EndpointModel(kind="endpoint", model=MODEL, base_url=url)


def test_the_name_of_a_variable_cannot_be_a_key():
    with pytest.raises(ValidationError, match="key_variable") as caught:
        EndpointModel(kind="endpoint", model=MODEL, key_variable=SECRET)
    assert caught.value.errors()[0]["loc"] == ("key_variable",)


@pytest.mark.parametrize("key", [None, "", " hush-0123", "hush-0123\n", "hüsh-0123"])
def test_a_key_that_cannot_be_sent_is_named_by_its_variable_alone(
    server: ScriptedServer,
    open_judge: Open,
    ask: Ask,
    monkeypatch: pytest.MonkeyPatch,
    key: str | None,
):
    if key is None:
        monkeypatch.delenv("JUDGE_KEY")
    else:
        monkeypatch.setenv("JUDGE_KEY", key)
    with pytest.raises(UserError, match="JUDGE_KEY") as caught:
        open_judge().complete([ask("a")])
    assert not key or not key.strip() or key.strip() not in str(caught.value)
    assert server.received == []


def test_no_key_is_written_anywhere(
    server: ScriptedServer,
    open_judge: Open,
    ask: Ask,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
):
    leak = f"you sent Bearer {SECRET}"
    error = {"message": leak, "code": SECRET, "param": SECRET, "type": SECRET}
    headers = {"x-request-id": SECRET}
    server.play("passing", [Action(body={"error": error}, status=500, headers=headers)])
    server.play("echoed", [Action(body={**chat(leak), "system_fingerprint": SECRET})])
    server.play("torn", [Action(body=f"{{{leak}"), Action(body={"error": error})])
    server.play("policy", [Action(body={"error": {**error, "code": "content_filter"}}, status=400)])
    messages = []
    # As a job logs: what other packages have to say below a warning is not written.
    with caplog.at_level(logging.DEBUG, logger="ctxaudit"):
        replies = open_judge().complete([ask(t) for t in ("passing", "echoed", "torn", "policy")])
        for status in (400, 401, 403, 404, 422):
            server.play("refused", [Action(body={"error": error}, status=status)])
            with pytest.raises(UserError) as caught:
                open_judge().complete([ask("refused")])
            messages.append(f"{caught.value!r} {caught.value.__context__!r}")
        server.play("model", [Action(body={**chat("a"), "model": f"m {SECRET}"})])
        with pytest.raises(UserError) as caught:
            open_judge().complete([ask("model")])
        messages.append(str(caught.value))
    assert replies[1].text == "you sent Bearer [key]"
    written = [path.read_text("utf-8") for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) > 4
    shown = "".join(capfd.readouterr())
    for text in [*written, *messages, shown, caplog.text, *map(repr, caplog.records)]:
        assert SECRET not in text


@pytest.mark.parametrize("filler", ["EMPTY", "not-needed", "ollama", "token-abc123"])
def test_a_filler_for_a_key_stays_in_what_a_model_said(
    server: ScriptedServer,
    open_judge: Open,
    ask: Ask,
    monkeypatch: pytest.MonkeyPatch,
    filler: str,
):
    monkeypatch.setenv("JUDGE_KEY", filler)
    said = f"this is {filler} here"
    server.usual = Action(body=chat(said))
    assert open_judge().complete([ask("a")])[0].text == said


@pytest.mark.parametrize("key", ["sk-1234567", "0123456789abcdef"])
def test_what_looks_like_a_key_is_taken_out(
    server: ScriptedServer, open_judge: Open, ask: Ask, monkeypatch: pytest.MonkeyPatch, key: str
):
    monkeypatch.setenv("JUDGE_KEY", key)
    server.usual = Action(body=chat(f"you sent {key}"))
    assert open_judge().complete([ask("a")])[0].text == "you sent [key]"


def test_a_message_in_parts_is_the_text_of_its_parts(
    server: ScriptedServer, open_judge: Open, ask: Ask
):
    parts = [{"type": "text", "text": "7 "}, {"type": "image"}, {"type": "text", "text": "of 9"}]
    server.usual = Action(body={**chat(None), "choices": [choice(parts)]})
    assert open_judge().complete([ask("a")])[0].text == "7 of 9"


def choice(content: Any) -> dict[str, Any]:
    return {"index": 0, "finish_reason": "stop", "message": {"content": content}}
