"""Batches: what is submitted, collected, asked again and paid."""

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ctxaudit.errors import UserError
from ctxaudit.llm.client import Client
from ctxaudit.llm.ledger import BudgetReachedError, Ledger
from tests.llm.batch_server import (
    BatchServer,
    Fate,
    Request,
    Stage,
    answered,
    completed,
    content,
    lines,
    unanswered,
)
from tests.llm.scripted_server import MODEL, Action, chat

Open = Callable[..., Client]
Ask = Callable[..., Any]
PRICES = {
    "as_of": "2026-01-01",
    "models": {"judge": {"input": 1e6, "output": 1e6, "batch_discount": 0.5}},
}
PRICED = {"prices": PRICES}
DOLLARS_PER_REPLY = 2.5  # Five tokens of one dollar each, at half the price.


def outcomes(tmp_path: Path) -> dict[str, int]:
    found = Ledger(tmp_path / "ledger.jsonl").totals().calls
    return {outcome: number for outcome, number in found.items() if number}


def spent(tmp_path: Path) -> float:
    return Ledger(tmp_path / "ledger.jsonl").totals().spent


def texts(client: Client, ask: Ask, names: Sequence[str]) -> list[str]:
    return [reply.text for reply in client.complete([ask(name) for name in names])]


def ending(status: str, **ends: Callable[[Request], Any]) -> Fate:
    """A batch in which some contents end otherwise; None leaves a line out."""

    def fate(requests: Sequence[Request]) -> Sequence[Stage]:
        made = [ends.get(content(request), answered)(request) for request in requests]
        good = [one for one in made if one and (one["response"] or {}).get("status_code") == 200]
        bad = [one for one in made if one and one not in good]
        return [Stage("in_progress"), Stage(status, lines(good), lines(bad))]

    return fate


def failing(status: int, **error: Any) -> Callable[[Request], Any]:
    return lambda request: answered(request, {"error": {"message": "no", **error}}, status)


def test_a_batch_is_submitted_once_and_its_replies_are_those_of_direct_calls(
    batch_server: BatchServer, open_batched: Open, ask: Ask, tmp_path: Path
):
    assert texts(open_batched(PRICED), ask, "abc") == ["a", "b", "c"]
    (batch,) = batch_server.batches.values()
    calls = open_batched().calls([ask(name) for name in "abc"])
    assert [request["custom_id"] for request in batch.requests] == [call.key for call in calls]
    assert batch.requests[0] == {
        "custom_id": calls[0].key,
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {
            "model": MODEL,
            "messages": [{"role": "user", "content": "a"}],
            "max_tokens": 9,
            "temperature": 0,
        },
    }
    assert outcomes(tmp_path) == {"answered": 3}
    assert spent(tmp_path) == 3 * DOLLARS_PER_REPLY
    # Either mode finds what the other has stored.
    assert texts(open_batched(PRICED, enabled=False), ask, "abcd") == ["a", "b", "c", "d"]
    assert texts(open_batched(PRICED), ask, "abcd") == ["a", "b", "c", "d"]
    assert batch_server.contents() == ["d"]
    assert batch_server.submitted() == Counter("abc")
    # The single call was paid in full.
    assert spent(tmp_path) == 3 * DOLLARS_PER_REPLY + 5
    assert not list((tmp_path / "responses/claims").iterdir())
    assert [path.name for path in (tmp_path / "responses/batches").iterdir()] == ["journal.jsonl"]


@pytest.mark.parametrize(
    ("limits", "sizes"),
    [({"max_requests": 2}, [2, 2, 1]), ({"max_bytes": 520}, [2, 2, 1]), ({}, [5])],
)
def test_batches_are_cut_at_the_limits(
    batch_server: BatchServer, open_batched: Open, ask: Ask, limits: dict[str, int], sizes: Any
):
    assert texts(open_batched(**limits), ask, "abcde") == list("abcde")
    assert batch_server.sizes() == sizes
    inputs = [batch_server.files[b.fields["input_file_id"]] for b in batch_server.batches.values()]
    assert max(map(len, inputs)) <= limits.get("max_bytes", 10**9)


def test_a_call_larger_than_a_batch_is_named(open_batched: Open, ask: Ask):
    with pytest.raises(UserError, match=r"one call is \d+ bytes.*max_bytes: 100"):
        open_batched(max_bytes=100).complete([ask("a")])


def test_half_of_an_expired_batch_is_kept_and_the_rest_asked_again(
    batch_server: BatchServer, open_batched: Open, ask: Ask, tmp_path: Path
):
    late = dict.fromkeys("cd", lambda request: unanswered(request, "batch_expired"))
    batch_server.fates = [ending("expired", **late)]
    assert texts(open_batched(PRICED), ask, "abcd") == list("abcd")
    assert batch_server.submitted() == Counter("abcdcd")
    assert outcomes(tmp_path) == {"answered": 4, "rejected": 2}
    assert spent(tmp_path) == 4 * DOLLARS_PER_REPLY


def test_a_batch_that_always_expires_is_given_up(
    batch_server: BatchServer, open_batched: Open, ask: Ask
):
    batch_server.fates = [ending("expired", a=lambda _: None)] * 9
    with pytest.raises(UserError, match="no reply in a batch that is expired, after 3 attempts"):
        open_batched(traffic={"max_attempts": 3}).complete([ask("a")])
    assert batch_server.submitted() == Counter("aaa")


def test_partial_output_is_stored_before_the_batch_ends(
    batch_server: BatchServer, open_batched: Open, ask: Ask, tmp_path: Path
):
    """The file grows from look to look, and is cut in the middle of a line."""
    seen: list[int] = []

    def fate(requests: Sequence[Request]) -> Sequence[Stage]:
        whole = lines(map(answered, requests)) or b""
        first = whole.index(b"\n") + 1
        parts = [whole[: first + 7], whole[:first], whole]
        return [*(Stage("in_progress", part) for part in parts), Stage("completed", whole)]

    batch_server.fates = [fate]
    look = batch_server.look

    def counted(name: str) -> dict[str, Any]:
        seen.append(len(list((tmp_path / "responses").glob("??/*.json"))))
        return look(name)

    batch_server.look = counted  # type: ignore[method-assign]
    assert texts(open_batched(PRICED), ask, "ab") == ["a", "b"]
    assert seen[:3] == [0, 1, 1]
    assert outcomes(tmp_path) == {"answered": 2}


def test_a_completed_batch_with_nothing_but_errors_is_read(
    batch_server: BatchServer, open_batched: Open, ask: Ask, tmp_path: Path
):
    batch_server.fates = [ending("completed", a=failing(429), b=failing(500))]
    assert texts(open_batched(PRICED), ask, "ab") == ["a", "b"]
    assert batch_server.submitted() == Counter("aabb")
    assert outcomes(tmp_path) == {"answered": 2, "rejected": 2}


@pytest.mark.parametrize(
    ("end", "outcome"),
    [
        (failing(429), "rejected"),
        (failing(503), "rejected"),
        (lambda request: unanswered(request, "server_error"), "rejected"),
        # Lost, or no reply: nobody knows whether it is billed.
        (lambda request: None, "unknown"),
        (lambda request: answered(request, {**chat("a"), "choices": []}), "unknown"),
    ],
    ids=["rate", "server", "no response", "lost", "no choice"],
)
def test_a_passing_fault_of_one_request_is_asked_again_alone(
    batch_server: BatchServer,
    open_batched: Open,
    ask: Ask,
    tmp_path: Path,
    end: Callable[[Request], Any],
    outcome: str,
):
    batch_server.fates = [ending("completed", a=end)]
    assert texts(open_batched(PRICED), ask, "ab") == ["a", "b"]
    assert batch_server.submitted() == Counter("aab")
    assert outcomes(tmp_path) == {"answered": 2, outcome: 1}


def test_a_refused_content_is_an_outcome_and_is_not_asked_again(
    batch_server: BatchServer, open_batched: Open, ask: Ask, tmp_path: Path
):
    batch_server.fates = [ending("completed", a=failing(400, code="content_filter"))]
    for _ in range(2):
        replies = open_batched(PRICED).complete([ask("a"), ask("b")])
        assert [reply.finish for reply in replies] == ["refusal", "stop"]
    assert batch_server.submitted() == Counter("ab")
    assert spent(tmp_path) == DOLLARS_PER_REPLY


def test_an_invalid_request_is_named_and_the_others_are_kept(
    batch_server: BatchServer, open_batched: Open, ask: Ask
):
    batch_server.fates = [ending("completed", a=failing(400, message="temperature: no"))]
    with pytest.raises(UserError, match=r"'temperature' is refused, after 1 attempt.*ends in 'a'"):
        open_batched().complete([ask("a"), ask("b")])
    assert texts(open_batched(), ask, "b") == ["b"]
    assert batch_server.submitted() == Counter("ab")


def test_the_first_reply_stays_and_a_reply_goes_before_a_fault(
    batch_server: BatchServer,
    open_batched: Open,
    ask: Ask,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
):
    def fate(requests: Sequence[Request]) -> Sequence[Stage]:
        first, second = requests
        failed = answered(second, {"error": {}}, 500)
        twice = [answered(first), answered(first, chat("other")), failed, answered(second)]
        return [Stage("completed", lines(twice), lines([failed]))]

    batch_server.fates = [fate]
    assert texts(open_batched(PRICED), ask, "ab") == ["a", "b"]
    assert outcomes(tmp_path) == {"answered": 2}
    assert "3 repeated lines" in caplog.text


def test_a_reply_to_an_unknown_call_is_left_out(
    batch_server: BatchServer, open_batched: Open, ask: Ask, caplog: pytest.LogCaptureFixture
):
    def fate(requests: Sequence[Request]) -> Sequence[Stage]:
        strange = {**answered(requests[0], chat("strange")), "custom_id": "../../strange"}
        return [Stage("completed", lines([strange, *map(answered, requests)]))]

    batch_server.fates = [fate]
    assert texts(open_batched(), ask, "a") == ["a"]
    assert "1 lines of unknown calls" in caplog.text


def test_a_reply_of_another_model_is_an_error_and_can_still_be_had(
    batch_server: BatchServer, open_batched: Open, ask: Ask, tmp_path: Path
):
    other = {**chat("a"), "model": "cheaper-2026-01-01"}
    batch_server.fates = [ending("completed", a=lambda request: answered(request, other))]
    for _ in range(2):
        with pytest.raises(UserError, match="the reply is from 'cheaper-2026-01-01'"):
            open_batched(PRICED).complete([ask("a"), ask("b")])
    assert texts(open_batched(PRICED), ask, "b") == ["b"]
    allowed = open_batched(PRICED, entry={"returned_models": ["cheaper-2026-01-01"]})
    assert texts(allowed, ask, "a") == ["a"]
    assert batch_server.submitted() == Counter("ab")
    assert spent(tmp_path) == 2 * DOLLARS_PER_REPLY


def refused(*errors: dict[str, Any]) -> Fate:
    return lambda _: [Stage("validating"), Stage("failed", errors=errors)]


def test_a_batch_that_fails_its_validation_names_the_fault_and_the_call(
    batch_server: BatchServer, open_batched: Open, ask: Ask, tmp_path: Path
):
    error = {"code": "invalid_value", "param": "body.top_p", "line": 2, "message": "secret"}
    batch_server.fates = [refused(error), refused({"message": "secret"})]
    client = open_batched(PRICED)
    with pytest.raises(UserError, match=r"invalid_value of 'body.top_p'.*ends in 'b'") as caught:
        client.complete([ask("a"), ask("b")])
    assert "secret" not in str(caught.value)
    with pytest.raises(UserError, match="the batch is refused: unnamed"):
        client.complete([ask("a"), ask("b")])
    assert spent(tmp_path) == 0
    assert texts(client, ask, "ab") == ["a", "b"]


def test_a_full_queue_is_waited_for(batch_server: BatchServer, open_batched: Open, ask: Ask):
    """The second batch is refused until the first has ended, which is no attempt."""
    slow = [Stage("in_progress")] * 9

    def first(requests: Sequence[Request]) -> Sequence[Stage]:
        return [*slow, *completed(requests)]

    batch_server.fates = [first, refused({"code": "token_limit_exceeded"})]
    client = open_batched(max_requests=1, traffic={"max_attempts": 1})
    assert texts(client, ask, "ab") == ["a", "b"]
    assert batch_server.submitted() == Counter("abb")


def test_a_cancelled_batch_stops_the_run_and_keeps_its_replies(
    batch_server: BatchServer, open_batched: Open, ask: Ask, tmp_path: Path
):
    batch_server.fates = [
        ending("cancelled", b=lambda request: unanswered(request, "batch_cancelled")),
        ending("cancelled", b=lambda _: None),
    ]
    for words in ("its batch was cancelled", "no reply in a batch that is cancelled"):
        with pytest.raises(UserError, match=f"{words}.*run again to go on"):
            open_batched(PRICED).complete([ask("a"), ask("b")])
    assert texts(open_batched(PRICED), ask, "ab") == ["a", "b"]
    assert batch_server.submitted() == Counter("abbb")
    assert spent(tmp_path) == 2 * DOLLARS_PER_REPLY


@pytest.mark.parametrize("step", ["upload", "create", "look", "download"])
@pytest.mark.parametrize("action", [Action(status=500), Action(broken=True), Action(body="{no")])
def test_a_passing_fault_of_the_endpoint_is_tried_again_and_nothing_submitted_twice(
    batch_server: BatchServer,
    open_batched: Open,
    ask: Ask,
    tmp_path: Path,
    step: str,
    action: Action,
):
    batch_server.faults = {f"before {step}": [action], f"after {step}": [action]}
    assert texts(open_batched(PRICED), ask, "ab") == ["a", "b"]
    assert batch_server.submitted() == Counter("ab")
    assert outcomes(tmp_path) == {"answered": 2}


@pytest.mark.parametrize("step", ["upload", "create"])
def test_what_the_endpoint_refuses_is_named_and_released(
    batch_server: BatchServer, open_batched: Open, ask: Ask, tmp_path: Path, step: str
):
    batch_server.faults = {f"before {step}": [Action(status=401, body={"error": {}})]}
    with pytest.raises(UserError, match="a batch: status 401, after 1 attempt"):
        open_batched(PRICED).complete([ask("a")])
    assert outcomes(tmp_path) == {"rejected": 1}
    assert texts(open_batched(PRICED), ask, "a") == ["a"]


def test_a_batch_that_the_endpoint_lost_can_be_given_up(
    batch_server: BatchServer, open_batched: Open, ask: Ask, tmp_path: Path
):
    batch_server.faults = {"before look": [Action(status=404, body={"error": {}})] * 2}
    for _ in range(2):
        with pytest.raises(UserError, match=r"status 404.*delete .*\.jsonl: its calls"):
            open_batched(PRICED).complete([ask("a")])
    assert batch_server.submitted() == Counter("a")
    (kept,) = (tmp_path / "responses/batches").glob("*[0-9a-f].jsonl")
    kept.unlink()
    assert texts(open_batched(PRICED), ask, "a") == ["a"]
    assert outcomes(tmp_path) == {"unknown": 1, "answered": 1}


def test_the_worst_case_of_a_whole_batch_is_reserved_and_the_budget_holds(
    batch_server: BatchServer, open_batched: Open, ask: Ask, tmp_path: Path
):
    # "user" and one letter, the template's share twice, and nine tokens at half a dollar.
    worst = (5 + 2 * 16 + 9) / 2
    reserved: list[float] = []
    create = batch_server.create

    def counted(asked: dict[str, Any]) -> dict[str, Any]:
        reserved.append(Ledger(tmp_path / "ledger.jsonl").totals().reserved)
        return create(asked)

    batch_server.create = counted  # type: ignore[method-assign]
    settings = {**PRICED, "budget_usd": 2 * worst + 1}
    with pytest.raises(BudgetReachedError):
        open_batched(settings).complete([ask(name) for name in "abcdefghijklmnopqrstuvwxyz"])
    # Two fit at first; when they cost little, one more at a time, until none does.
    assert reserved[0] == 2 * worst
    assert max(reserved) <= 2 * worst
    num_answered = sum(batch_server.submitted().values())
    assert spent(tmp_path) == num_answered * DOLLARS_PER_REPLY
    assert spent(tmp_path) + worst > 2 * worst + 1 >= spent(tmp_path)
    assert set(batch_server.submitted().values()) == {1}


def test_no_key_is_written_anywhere(
    batch_server: BatchServer,
    open_batched: Open,
    ask: Ask,
    tmp_path: Path,
    secret: str,
    caplog: pytest.LogCaptureFixture,
):
    leak = f"you sent Bearer {secret}"
    error = {"message": leak, "code": secret, "param": secret, "type": secret}
    batch_server.fates = [
        refused(error),
        ending(
            "completed",
            a=lambda request: answered(request, chat(leak)),
            b=lambda request: answered(request, {"error": error}, 500),
            c=lambda request: unanswered(request, secret),
        ),
        lambda _: [Stage(secret), Stage("failed", errors=[{"code": "x", "line": 1, **error}])],
    ]
    messages = []
    with caplog.at_level(logging.DEBUG, logger="ctxaudit"):
        for _ in range(2):
            with pytest.raises(UserError) as caught:
                open_batched().complete([ask(name) for name in "abc"])
            messages.append(str(caught.value))
        batch_server.faults = {"before upload": [Action(status=400, body={"error": error})]}
        with pytest.raises(UserError) as caught:
            open_batched().complete([ask("d")])
        messages.append(str(caught.value))
    assert open_batched().complete([ask("a")])[0].text == "you sent Bearer [key]"
    written = [path.read_text("utf-8") for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) > 2
    for text in [*written, *messages, caplog.text, *map(repr, caplog.records)]:
        assert secret not in text
