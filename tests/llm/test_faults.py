import json
import socket
import time
from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from ctxaudit.errors import UserError
from ctxaudit.llm import faults, retries
from ctxaudit.llm.client import Client
from ctxaudit.llm.faults import CallError
from ctxaudit.llm.ledger import Ledger
from tests.llm.scripted_server import MODEL, Action, ScriptedServer, chat

Open = Callable[..., Client]
Ask = Callable[..., Any]


def refused(status: int, **error: Any) -> Action:
    return Action(body={"error": {"message": "no", **error}}, status=status)


def calls(tmp_path: Path) -> dict[str, int]:
    found = Ledger(tmp_path / "ledger.jsonl").totals().calls
    return {outcome: number for outcome, number in found.items() if number}


@pytest.mark.parametrize(
    ("action", "outcome"),
    [
        (refused(429), "rejected"),
        (refused(500), "rejected"),
        (refused(503), "rejected"),
        (Action(broken=True), "unknown"),
        (Action(body="{this is no JSON"), "unknown"),
        (Action(body={**chat("a"), "choices": []}), "unknown"),
        (Action(body={"error": {"message": "overloaded"}}), "unknown"),
        (Action(seconds=3.0), "unknown"),
    ],
    ids=["rate", "server", "busy", "reset", "malformed", "no choice", "error as 200", "time-out"],
)
def test_a_passing_fault_is_tried_again_and_booked(
    server: ScriptedServer,
    open_judge: Open,
    ask: Ask,
    tmp_path: Path,
    action: Action,
    outcome: str,
):
    server.play("a", [action])
    # Long enough for a busy machine to answer, and shorter than the one action that waits.
    (reply,) = open_judge(traffic={"timeout_seconds": 1.0}).complete([ask("a")])
    assert reply.text == "a"
    assert server.contents() == ["a", "a"]
    assert calls(tmp_path) == {"answered": 1, outcome: 1}


def test_retry_after_is_honoured(server: ScriptedServer, open_judge: Open, ask: Ask):
    server.play("a", [Action(status=429, body={}, headers={"Retry-After": "0.4"})])
    open_judge().complete([ask("a")])
    first, second = server.received
    assert second.time - first.time >= 0.4


def test_retry_after_is_read_as_number_or_date():
    assert faults._retry_after({"retry-after": "7"}) == 7
    date = formatdate(time.time() + 100, usegmt=True)
    # A date has whole seconds.
    assert faults._retry_after({"retry-after": date}) == pytest.approx(100, abs=2)
    assert faults._retry_after({"retry-after": "soon"}) is None
    far = "Wed, 21 Oct 99999999999999 07:28:00 GMT"
    assert faults._retry_after({"retry-after": far}) is None
    assert faults._retry_after({}) is None


def test_the_wait_is_drawn_from_the_whole_range_and_added_to_what_is_asked():
    waits = [retries.seconds_to_wait(4, CallError("server", "")) for _ in range(2000)]
    # Uniform on [0, 8]: the chance that 2000 draws all miss either tenth is below 1e-90.
    assert min(waits) < 0.8
    assert 7.2 < max(waits) <= 8
    assert retries.seconds_to_wait(1, CallError("rate", "", retry_after=5)) >= 5
    assert retries.seconds_to_wait(60, CallError("server", "")) <= 60


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (refused(400, param="temperature", code="unsupported_value"), "'temperature' is refused"),
        (refused(400, message="Unsupported value: 'top_p' does not"), "'top_p' is refused"),
        (refused(401, code="invalid_api_key"), r"status 401 \(invalid_api_key\)"),
        (refused(404, code="model_not_found"), "status 404"),
        (refused(400, code="context_length_exceeded"), "context_length_exceeded"),
        (refused(429, code="insufficient_quota"), "insufficient_quota"),
    ],
)
def test_an_invalid_request_stops_at_once_and_names_the_parameter(
    server: ScriptedServer, open_judge: Open, ask: Ask, action: Action, words: str
):
    server.play("a", [action] * 9)
    with pytest.raises(UserError, match=words) as caught:
        open_judge(sampling={"top_p": 0.5}).complete([ask("a")])
    assert MODEL in str(caught.value)
    assert server.contents() == ["a"]


def test_attempts_are_bounded_and_what_was_answered_is_kept(
    server: ScriptedServer, open_judge: Open, ask: Ask
):
    server.play("b", [refused(500)] * 9)
    client = open_judge(traffic={"max_attempts": 3, "max_in_flight": 1})
    with pytest.raises(UserError, match="status 500, after 3 attempts; all replies are kept"):
        client.complete([ask("a"), ask("b"), ask("c")])
    server.script.clear()
    assert [r.text for r in client.complete([ask("a"), ask("b"), ask("c")])] == ["a", "b", "c"]
    assert server.times() == {"a": 1, "b": 4, "c": 1}


def test_a_fault_that_stops_all_waits_for_no_back_off(
    server: ScriptedServer, open_judge: Open, ask: Ask
):
    server.play("slow", [Action(status=429, body={}, headers={"Retry-After": "900"})])
    server.play("wrong", [Action(status=400, body={}, seconds=0.3)])
    with pytest.raises(UserError, match="status 400"):
        open_judge().complete([ask("slow"), ask("wrong")])
    assert sorted(server.contents()) == ["slow", "wrong"]


def test_a_refused_content_is_an_outcome_and_is_not_asked_again(
    server: ScriptedServer, open_judge: Open, ask: Ask
):
    server.play("a", [refused(400, code="content_filter")])
    for _ in range(2):
        replies = open_judge().complete([ask("a"), ask("b")])
        assert [reply.finish for reply in replies] == ["refusal", "stop"]
    assert server.times() == {"a": 1, "b": 1}


@pytest.mark.parametrize(
    ("body", "text", "finish"),
    [
        (chat("7", "stop"), "7", "stop"),
        (chat("7", "length"), "7", "length"),
        (chat(None, "content_filter"), "", "refusal"),
        (chat(None, "stop", refusal="no"), "no", "refusal"),
        (chat("7", "malfunction"), "7", "error"),
    ],
)
def test_every_outcome_is_told_apart_and_paid_once(
    server: ScriptedServer, open_judge: Open, ask: Ask, body: Any, text: str, finish: str
):
    server.play("a", [Action(body=body)])
    for _ in range(2):
        (reply,) = open_judge().complete([ask("a")])
        assert (reply.text, reply.finish) == (text, finish)
        assert (reply.prompt_tokens, reply.new_tokens) == (3, 2)
        assert (reply.model, reply.fingerprint) == (MODEL, "fp_1")
    assert server.contents() == ["a"]


def test_a_reply_of_another_model_is_an_error_unless_allowed_by_name(
    server: ScriptedServer, open_judge: Open, ask: Ask, tmp_path: Path
):
    server.usual = Action(body={**chat("a"), "model": "cheaper-2026-01-01"})
    for settings in ({}, {}, {"mode": "replay"}):
        with pytest.raises(UserError, match="the reply is from 'cheaper-2026-01-01'"):
            open_judge(settings).complete([ask("a")])
    allowed = open_judge(returned_models=["cheaper-2026-01-01"])
    assert allowed.complete([ask("a")])[0].model == "cheaper-2026-01-01"
    # It was paid for once.
    assert server.contents() == ["a"]
    assert calls(tmp_path) == {"answered": 1}


def test_a_second_reply_does_not_replace_the_first(
    server: ScriptedServer, open_judge: Open, ask: Ask, caplog: pytest.LogCaptureFixture
):
    client = open_judge()
    (first,) = client.complete([ask("a")])
    (call,) = client.calls([ask("a")])
    again = type(first)(text="other", finish="stop")
    assert client._store.put(call, again) == first
    assert "second reply" in caplog.text
    assert client.complete([ask("a")]) == [first]


def test_half_a_character_does_not_cost_the_reply(
    server: ScriptedServer, open_judge: Open, ask: Ask
):
    """A cut emoji: valid as JSON, but no text that a file can hold."""
    server.play("a", [Action(body=json.dumps(chat("cut \ud83d")))])
    for _ in range(2):
        assert open_judge().complete([ask("a")])[0].text == "cut \ufffd"
    assert server.contents() == ["a"]


def test_nobody_there_is_not_paid(open_judge: Open, ask: Ask, tmp_path: Path):
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unheard.getsockname()[1]}/v1"
        client = open_judge(base_url=url, traffic={"max_attempts": 2})
        with pytest.raises(UserError, match=r"no connection .*, after 2 attempts"):
            client.complete([ask("a")])
    assert calls(tmp_path) == {"rejected": 2}


def test_two_choices_are_one_reply(server: ScriptedServer, open_judge: Open, ask: Ask):
    twice = chat("a")
    twice["choices"] = [*twice["choices"], *chat("b")["choices"]]
    server.play("a", [Action(body=twice)])
    assert open_judge().complete([ask("a")])[0].text == "a"


@pytest.mark.parametrize("asked", [1e9, float("inf")])
def test_no_server_makes_us_wait_for_long(asked: float, caplog: pytest.LogCaptureFixture):
    wait = retries.seconds_to_wait(1, CallError("rate", "", retry_after=asked))
    # Ten minutes, and the second of the first back-off.
    assert wait <= 601
    assert "are cut to that" in caplog.text
