"""Batches of jobs that are killed, run side by side, or change their mode."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ctxaudit.llm import batch_keeper, requests
from ctxaudit.llm.batch_journal import BatchJournal
from ctxaudit.llm.client import Client
from ctxaudit.llm.ledger import InBatchError, Ledger
from ctxaudit.llm.pacing import Limits
from ctxaudit.llm.requests import ChatRequest, Identity
from ctxaudit.llm.reservations import Reservation, Wanted
from ctxaudit.llm.store import ResponseStore
from tests.llm.batch_server import BatchServer, Request, Stage, completed
from tests.llm.scripted_server import MODEL, Action

Open = Callable[..., Client]
Ask = Callable[..., Any]
ROOT = Path(__file__).parents[2]
PRICES = {"as_of": "2026-01-01", "models": {"judge": {"input": 1e6, "output": 1e6}}}
DOLLARS_PER_REPLY = 5.0


def start(
    server: BatchServer, folder: Path, questions: Sequence[str], **batch: Any
) -> subprocess.Popen[str]:
    """A job in batch mode."""
    batch = {"enabled": True, "poll_seconds": 0.02, **batch}
    entry = {
        "kind": "endpoint",
        "model": MODEL,
        "base_url": server.base_url,
        "key_variable": "JUDGE_KEY",
        "traffic": {"batch": batch},
    }
    job = {
        "entry": entry,
        "settings": {"prices": PRICES},
        "folder": str(folder),
        "questions": list(questions),
    }
    return subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("judge_process.py")), json.dumps(job)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def kill(job: subprocess.Popen[str]) -> None:
    os.kill(job.pid, signal.SIGKILL)
    job.communicate()


def finish(*jobs: subprocess.Popen[str]) -> None:
    ended = [job.communicate(timeout=100) for job in jobs]
    assert [job.returncode for job in jobs] == [0] * len(jobs), ended


@pytest.mark.parametrize(
    "step",
    [
        "before upload",
        "after upload",
        "before create",
        "after create",
        "before look",
        "after look",
        "before download",
        "after download",
    ],
)
@pytest.mark.parametrize("keeps_metadata", [True, False])
def test_a_job_killed_at_any_step_goes_on_and_submits_nothing_twice(
    batch_server: BatchServer,
    tmp_path: Path,
    open_batched: Open,
    ask: Ask,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    keeps_metadata: bool,
):
    """`after create`: the endpoint has the batch, and the journal does not say so."""
    monkeypatch.setattr(batch_keeper, "_SECONDS_UNTIL_LISTED", 0.0)
    batch_server.keeps_metadata = keeps_metadata
    # Others' batches, more than a page of the list holds.
    batch_server.files["x"] = b""
    for _ in range(5):
        batch_server.create(
            {"input_file_id": "x", "endpoint": "", "completion_window": "", "metadata": {}}
        )
    killed_at(batch_server, step, tmp_path, "abc")
    if step != "before create":
        # That server would make the batch after all, long after it was looked for.
        batch_server.gate.go.set()
    client = open_batched({"prices": PRICES})
    asked = [ask(name, max_new_tokens=4) for name in "abcd"]
    assert [reply.text for reply in client.complete(asked)] == list("abcd")
    assert batch_server.submitted() == Counter("abcd")
    totals = Ledger(tmp_path / "ledger.jsonl").totals()
    assert totals.calls["answered"] == 4
    assert totals.calls["open"] == 0
    assert totals.spent == 4 * DOLLARS_PER_REPLY
    assert not list((tmp_path / "responses/claims").iterdir())


def killed_at(server: BatchServer, step: str, folder: Path, questions: str) -> None:
    """A job that is killed while the server is at a step."""
    server.gate.step = step
    job = start(server, folder, questions)
    assert server.gate.reached.wait(60), job.poll()
    kill(job)
    server.gate.step = ""


def test_a_batch_that_is_listed_late_is_waited_for(
    batch_server: BatchServer, open_batched: Open, ask: Ask, tmp_path: Path
):
    killed_at(batch_server, "after create", tmp_path, "abc")
    batch_server.gate.go.set()
    page, num_looks = batch_server.page, 0

    def late(after: str) -> dict[str, Any]:
        nonlocal num_looks
        num_looks += 1
        return page(after) if num_looks > 3 else {"object": "list", "data": [], "has_more": False}

    batch_server.page = late  # type: ignore[method-assign]
    asked = [ask(name, max_new_tokens=4) for name in "abc"]
    assert [reply.text for reply in open_batched().complete(asked)] == list("abc")
    assert batch_server.submitted() == Counter("abc")


def test_reservations_of_a_job_that_died_before_its_batch_was_entered_are_released(
    batch_server: BatchServer,
    open_batched: Open,
    ask: Ask,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    """The kill comes between the ledger and the journal; then nothing was sent."""

    def died(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(BatchJournal, "plan", died)
        with pytest.raises(KeyboardInterrupt):
            open_batched({"prices": PRICES}).complete([ask("a")])
    assert Ledger(tmp_path / "ledger.jsonl").totals().calls == {"open": 1}
    assert open_batched({"prices": PRICES}).complete([ask("a")])[0].text == "a"
    assert Ledger(tmp_path / "ledger.jsonl").totals().spent == DOLLARS_PER_REPLY


@pytest.mark.parametrize(
    ("where", "step"), [(Ledger, "settle_all"), (BatchJournal, "close")], ids=["stored", "settled"]
)
def test_a_harvest_that_was_cut_off_is_finished_and_paid_once(
    batch_server: BatchServer,
    open_batched: Open,
    ask: Ask,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    where: type,
    step: str,
):
    killed_at(batch_server, "before look", tmp_path, "ab")
    batch_server.gate.go.set()

    def died(*_: Any) -> None:
        raise KeyboardInterrupt

    asked = [ask(name, max_new_tokens=4) for name in "abc"]
    with monkeypatch.context() as patched:
        patched.setattr(where, step, died)
        with pytest.raises(KeyboardInterrupt):
            open_batched({"prices": PRICES}).complete(asked)
    assert len(list(ResponseStore(tmp_path / "responses"))) == 2
    assert [reply.text for reply in open_batched({"prices": PRICES}).complete(asked)] == list("abc")
    assert batch_server.submitted() == Counter("abc")
    totals = Ledger(tmp_path / "ledger.jsonl").totals()
    assert totals.spent == 3 * DOLLARS_PER_REPLY
    assert totals.calls == {"answered": 3, "open": 0}
    assert BatchJournal(tmp_path / "responses/batches").open() == {}


def questions(job: int) -> list[str]:
    """20 of 40, so that each is asked by two of four jobs on average, in another order."""
    return random.Random(job).sample([f"question {number}" for number in range(40)], 20)


def test_jobs_side_by_side_submit_no_request_twice_also_when_one_is_killed(
    batch_server: BatchServer, tmp_path: Path
):
    def slow(requests: Sequence[Request]) -> Sequence[Stage]:
        return [*[Stage("in_progress")] * 20, *completed(requests)]

    batch_server.fates = [slow] * 99
    killed, *running = (
        start(batch_server, tmp_path, questions(job), max_requests=7) for job in range(4)
    )
    while not batch_server.batches:
        assert killed.poll() is None
        time.sleep(0.005)
    kill(killed)
    finish(*running)
    finish(start(batch_server, tmp_path, questions(0)))

    expected = {text for job in range(4) for text in questions(job)}
    # Only what the killed job was just reserving may be free again, and that was not sent.
    assert batch_server.submitted() == Counter(expected)
    store = ResponseStore(tmp_path / "responses")
    stored = [store.get(key) for key in store]
    assert sorted(reply.text for reply in stored if reply) == sorted(expected)
    totals = Ledger(tmp_path / "ledger.jsonl").totals()
    assert totals.spent == len(expected) * DOLLARS_PER_REPLY
    assert totals.calls["open"] == 0


def test_a_batch_is_collected_after_batches_were_switched_off(
    batch_server: BatchServer, open_batched: Open, ask: Ask, tmp_path: Path
):
    killed_at(batch_server, "after look", tmp_path, "ab")
    batch_server.gate.go.set()
    asked = [ask(name, max_new_tokens=4) for name in "abc"]
    replies = open_batched(enabled=False).complete(asked)
    assert [reply.text for reply in replies] == list("abc")
    assert batch_server.submitted() == Counter("ab")
    assert batch_server.contents() == ["c"]


def test_a_single_call_under_way_is_not_put_into_a_batch(
    batch_server: BatchServer, open_batched: Open, ask: Ask, tmp_path: Path
):
    batch_server.play("a", [Action(seconds=1.0)])
    single = start(batch_server, tmp_path, "a", enabled=False)
    while not batch_server.received:
        assert single.poll() is None
        time.sleep(0.005)
    asked = [ask(name, max_new_tokens=4) for name in "ab"]
    assert [reply.text for reply in open_batched().complete(asked)] == ["a", "b"]
    finish(single)
    assert batch_server.contents() == ["a"]
    assert batch_server.submitted() == Counter("b")


def test_a_single_call_of_a_killed_job_is_counted_and_asked_again(
    batch_server: BatchServer, open_batched: Open, ask: Ask, tmp_path: Path
):
    batch_server.play("a", [Action(seconds=5.0)])
    single = start(batch_server, tmp_path, "a", enabled=False)
    while not batch_server.received:
        assert single.poll() is None
        time.sleep(0.005)
    kill(single)
    assert open_batched().complete([ask("a", max_new_tokens=4)])[0].text == "a"
    assert batch_server.submitted() == Counter("a")
    calls = Ledger(tmp_path / "ledger.jsonl").totals().calls
    assert calls == {"interrupted": 1, "answered": 1, "open": 0}


def wanted(key: str, dollars: float = 10.0) -> Wanted:
    return Wanted(key=key, model="m", tokens=5, dollars=dollars, price=None, seconds=60.0)


def test_what_a_batch_has_reserved_is_nobody_elses(tmp_path: Path):
    first, second = (Ledger(tmp_path / "ledger.jsonl", budget=35) for _ in range(2))
    alone = first.reserve(wanted("alone"), Limits())
    assert isinstance(alone, Reservation)
    # Three fit the budget, and one of them is taken.
    made = second.reserve_batch([wanted(key) for key in ("alone", "a", "b", "c")], "batch")
    assert [item.key for item in made] == ["a", "b"]
    assert first.reserve_batch([wanted("a"), wanted("b")], "other") == []
    with pytest.raises(InBatchError, match="part of a batch"):
        first.reserve(wanted("a"), Limits())
    assert first.of_batch("batch").keys() == {"a", "b"}
    # Limits per minute are those of single calls.
    second.settle_all([(made[0], "rejected"), (made[1], "unknown"), (made[1], "rejected")])
    assert first.totals().spent == 10
    assert isinstance(first.reserve(wanted("a", 1.0), Limits(requests=2)), Reservation)


def test_a_journal_is_read_by_all_and_holds_the_calls(tmp_path: Path):
    journals = [BatchJournal(tmp_path / "batches") for _ in range(2)]
    request = ChatRequest(
        model="judge",
        messages=[{"role": "user", "content": "na\u00efve"}],
        max_new_tokens=3,
        sampling={"temperature": 0.5, "top_p": 1.0},
        schema={"type": "integer"},
        replicate=2,
    )
    call = requests.call(request, Identity("local", "m"))
    planned = journals[0].plan("b", "local/m", [call])
    assert journals[1].open() == {"b": planned}
    (kept,) = (journals[1].calls(planned) or {}).items()
    assert kept[0] == kept[1].key == call.key
    assert kept[1].canonical == call.canonical
    assert kept[1].request.messages == request.messages
    assert kept[1].request.replicate == 2
    submitted = journals[1].submitted(journals[0].uploaded(planned, "f"), "r")
    assert journals[0].open() == {"b": submitted}
    assert (submitted.file, submitted.remote) == ("f", "r")
    journals[0].close(submitted, "completed")
    assert journals[1].open() == {}
    assert journals[1].calls(submitted) is None
