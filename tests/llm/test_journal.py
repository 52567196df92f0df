"""What is in a journal that nobody of ours wrote, or that two would write at once."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ctxaudit.llm import journal
from ctxaudit.llm.batch_journal import BatchJournal
from ctxaudit.llm.journal import Journal
from ctxaudit.llm.ledger import Ledger
from ctxaudit.llm.pacing import Limits
from ctxaudit.llm.prices import Price
from ctxaudit.llm.reservations import Reservation, Wanted

ROOT = Path(__file__).parents[2]
LEASE = 1.0
SLEEPER = f"""
import os, signal, sys
from pathlib import Path
from ctxaudit.llm import journal
journal._SECONDS_TO_TAKE_OVER = {LEASE}
with journal.Journal(Path(sys.argv[1])).turn() as (news, append):
    print("holds", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
    append({{"late": 1}}, lasting=True)
"""
WANTED = Wanted(
    key="k", model="m", tokens=5, dollars=1.0, price=Price(input=1, output=1), seconds=60
)
STRANGE = [
    b"{}",
    b'{"event":"note"}',
    b'{"event":"reserve"}',
    b'{"event":"settle","id":[1],"dollars":1,"outcome":"answered"}',
    b'{"event":"settle","id":"x"}',
    b'{"event":"planned","id":"x","model":5,"time":1}',
    b'{"event":"planned","id":"x"}',
    b'{"event":"closed"}',
    b"[" * 100_000,
]


@pytest.mark.parametrize("line", STRANGE, ids=range(len(STRANGE)))
def test_a_line_that_is_no_event_is_skipped_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, line: bytes
):
    path = tmp_path / "journal.jsonl"
    path.write_bytes(line + b"\n")
    assert isinstance(Ledger(path, budget=5).reserve(WANTED, Limits()), Reservation)
    assert "a line that cannot be read is skipped" in caplog.text
    path.write_bytes(line + b"\n")
    assert BatchJournal(tmp_path).open() == {}


@pytest.mark.parametrize("dollars", [-5, "5", float("nan"), None])
def test_no_line_is_credit(tmp_path: Path, dollars: object):
    path = tmp_path / "ledger.jsonl"
    item = Ledger(path).reserve(WANTED, Limits())
    assert isinstance(item, Reservation)
    line = {"event": "settle", "id": item.id, "dollars": dollars, "outcome": "answered"}
    with path.open("a") as stream:
        stream.write(json.dumps(line) + "\n")
    totals = Ledger(path).totals()
    assert (totals.spent, totals.reserved) == (0, 1)


def test_who_lost_the_lock_while_it_stood_still_writes_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(journal, "_SECONDS_TO_TAKE_OVER", LEASE)
    path = tmp_path / "ledger.jsonl"
    process = subprocess.Popen(
        [sys.executable, "-c", SLEEPER, str(path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    assert process.stdout.readline() == "holds\n"
    with Journal(path).turn() as (_, append):
        append({"pad": "b" * 60}, lasting=True)
    os.kill(process.pid, signal.SIGCONT)
    _, said = process.communicate(timeout=60)
    assert "another job took its lock" in said
    assert [json.loads(line) for line in path.read_text().splitlines()] == [{"pad": "b" * 60}]
