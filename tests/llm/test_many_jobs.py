"""Eight jobs with overlapping requests, against one server."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ctxaudit.llm.ledger import Ledger
from ctxaudit.llm.store import ResponseStore
from tests.llm.scripted_server import MODEL, NEW_TOKENS, Action, ScriptedServer

ROOT = Path(__file__).parents[2]
NUM_JOBS, NUM_REQUESTS, NUM_DISTINCT = 8, 200, 400
IN_FLIGHT = 4
PRICES = {"as_of": "2026-01-01", "models": {"judge": {"input": 1e6, "output": 1e6}}}
DOLLARS_PER_REPLY = 3 + NEW_TOKENS  # One dollar per token.


def questions(job: int) -> list[str]:
    """200 of 400 questions, so that each is asked by four jobs on average, in another order."""
    draw = random.Random(job)
    return draw.sample([f"question {number}" for number in range(NUM_DISTINCT)], NUM_REQUESTS)


def start(
    job: int, server: ScriptedServer, folder: Path, budget: float | None = None
) -> subprocess.Popen[str]:
    work = {
        "entry": {
            "kind": "endpoint",
            "model": MODEL,
            "base_url": server.base_url,
            "key_variable": "JOB_KEY",
            "traffic": {"max_in_flight": IN_FLIGHT},
        },
        "settings": {"budget_usd": budget, "prices": PRICES},
        "folder": str(folder),
        "questions": questions(job),
    }
    # Each job has a key of its own, by which the server tells them apart.
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "JOB_KEY": f"key-of-job-{job}"}
    return subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("judge_process.py")), json.dumps(work)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(jobs: list[subprocess.Popen[str]], code: int = 0) -> list[str]:
    ended = [job.communicate(timeout=100) for job in jobs]
    assert [job.returncode for job in jobs] == [code] * len(jobs), ended
    return [out.strip() for out, _ in ended]


def stored(folder: Path) -> list[Any]:
    """The texts of all entries; each must be whole."""
    store = ResponseStore(folder / "responses")
    replies = [store.get(key) for key in store]
    assert None not in replies
    return sorted(reply.text for reply in replies if reply)


def wanted(jobs: range) -> set[str]:
    return {text for job in jobs for text in questions(job)}


@pytest.fixture
def slow(server: ScriptedServer) -> ScriptedServer:
    """Long enough for the jobs to meet, and for one to be killed in the middle."""
    server.usual = Action(seconds=0.02)
    return server


def test_no_request_is_sent_twice_and_the_budget_holds(slow: ScriptedServer, tmp_path: Path):
    jobs = range(NUM_JOBS)
    budget = 150 * DOLLARS_PER_REPLY
    ended = finish([start(job, slow, tmp_path, budget) for job in jobs], code=3)
    assert set(ended) == {"BudgetReachedError"}
    spent = len(slow.answered) * DOLLARS_PER_REPLY
    # The last dollars are too few for another worst case.
    assert 0.5 * budget < spent <= budget
    assert len(stored(tmp_path)) == len(slow.answered)

    # With more to spend, half of the jobs go on where all had stopped.
    before = set(slow.answered)
    finish([start(job, slow, tmp_path, budget=1e6) for job in jobs[:4]])
    expected = before | wanted(jobs[:4])
    assert slow.times() == dict.fromkeys(expected, 1)
    assert stored(tmp_path) == sorted(expected)
    totals = Ledger(tmp_path / "ledger.jsonl").totals()
    assert totals.spent == pytest.approx(len(expected) * DOLLARS_PER_REPLY)
    assert totals.calls == {"answered": len(expected), "open": 0}
    assert not list((tmp_path / "responses/claims").iterdir())


def test_of_a_killed_job_only_what_was_in_flight_is_sent_again(
    slow: ScriptedServer, tmp_path: Path
):
    jobs = range(NUM_JOBS)
    running = [start(job, slow, tmp_path, budget=1e6) for job in jobs]
    killed = running.pop(0)
    mine = "Bearer key-of-job-0"
    while sum(received.authorization == mine for received in list(slow.received)) < 20:
        assert killed.poll() is None
        time.sleep(0.005)
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    finish(running)
    finish([start(0, slow, tmp_path, budget=1e6)])

    assert stored(tmp_path) == sorted(wanted(jobs))
    again = {content for content, times in slow.times().items() if times > 1}
    assert all(times <= 2 for times in slow.times().values())
    assert len(again) <= IN_FLIGHT
    first = {received.content: received.authorization for received in reversed(slow.received)}
    assert {first[content] for content in again} <= {mine}
    totals = Ledger(tmp_path / "ledger.jsonl").totals()
    # One may have been killed between its reservation and its call.
    assert len(again) <= totals.calls.get("interrupted", 0) <= IN_FLIGHT
    assert totals.calls["answered"] == len(wanted(jobs))
    assert totals.calls["open"] == 0
    # What was interrupted is counted at its worst case, which is above what the server billed.
    assert totals.spent >= len(slow.answered) * DOLLARS_PER_REPLY
