import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxaudit.llm import claims
from ctxaudit.llm.claims import Claims

ROOT = Path(__file__).parents[2]
LEASE = 2.0
HOLDER = f"""
import sys, time
from pathlib import Path
from ctxaudit.llm import claims
claims._SECONDS_TO_TAKE_OVER = {LEASE}
mine = claims.Claims(Path(sys.argv[1]))
assert mine.take("k")
print("held", flush=True)
time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the claim to "k"."""
    monkeypatch.setattr(claims, "_SECONDS_TO_TAKE_OVER", LEASE)
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_one_process_holds_a_claim_and_others_are_free(
    tmp_path: Path, holder: subprocess.Popen[str]
):
    mine = Claims(tmp_path)
    until = time.monotonic() + 1.5 * LEASE
    while time.monotonic() < until:
        assert not mine.take("k")
        time.sleep(0.05)
    assert mine.take("other")
    mine.give_up("other")
    assert Claims(tmp_path).take("other")


def test_the_claim_of_a_killed_process_is_taken_at_once(
    tmp_path: Path, holder: subprocess.Popen[str]
):
    mine = Claims(tmp_path)
    assert not mine.take("k")
    holder.kill()
    holder.wait()
    assert mine.take("k")


def test_the_claim_of_a_silent_process_is_taken_when_it_has_expired(
    tmp_path: Path, holder: subprocess.Popen[str]
):
    """Stopped, it is alive but renews nothing: so looks a holder whose machine is gone."""
    os.kill(holder.pid, signal.SIGSTOP)
    mine = Claims(tmp_path)
    assert not mine.take("k")
    until = time.monotonic() + 30 * LEASE
    while not mine.take("k"):
        assert time.monotonic() < until
        time.sleep(0.05)
