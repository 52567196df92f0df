import json
from pathlib import Path
from typing import Any

import pytest

from ctxaudit.llm import requests
from ctxaudit.llm.ledger import BudgetReachedError, Ledger, Wait
from ctxaudit.llm.pacing import Limits
from ctxaudit.llm.prices import Price, most_tokens, worst_case
from ctxaudit.llm.requests import ChatRequest, Completion, Identity
from ctxaudit.llm.reservations import Reservation, Wanted
from ctxaudit.llm.store import ResponseStore
from ctxaudit.llm.waiting import Waiting

DOLLAR_PER_TOKEN = Price(input=1e6, output=1e6)
FREE = Limits()


class Clock:
    """Stands still until it is set."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.jsonl"


def wanted(key: str = "k", dollars: float = 10.0, **changes: Any) -> Wanted:
    fields = {"model": "m", "tokens": 5, "price": DOLLAR_PER_TOKEN, "seconds": 60.0, **changes}
    return Wanted(key=key, dollars=dollars, **fields)


def reserve(ledger: Ledger, *arguments: Any, **changes: Any) -> Reservation:
    found = ledger.reserve(wanted(*arguments, **changes), FREE)
    assert isinstance(found, Reservation)
    return found


def reply(prompt_tokens: int = 3, new_tokens: int = 1) -> Completion:
    return Completion(text="", finish="stop", prompt_tokens=prompt_tokens, new_tokens=new_tokens)


def test_the_worst_case_counts_until_it_is_settled(path: Path):
    ledger = Ledger(path)
    reservation = reserve(ledger)
    assert (ledger.totals().spent, ledger.totals().reserved) == (0, 10)
    ledger.settle(reservation, reply())
    assert (ledger.totals().spent, ledger.totals().reserved) == (4, 0)


@pytest.mark.parametrize(("billed", "spent"), [(False, 0), (True, 10)])
def test_a_fault_is_released_unless_it_may_be_billed(path: Path, billed: bool, spent: float):
    ledger = Ledger(path)
    ledger.settle_fault(reserve(ledger), billed=billed)
    assert ledger.totals().spent == spent


def test_a_reply_without_usage_costs_its_worst_case(path: Path):
    ledger = Ledger(path)
    ledger.settle(reserve(ledger), reply(0, 0))
    assert ledger.totals().spent == 10


def test_two_jobs_see_one_account(path: Path):
    first, second = Ledger(path), Ledger(path)
    reservation = reserve(first)
    assert second.totals().reserved == 10
    second.settle(reservation, reply())
    first.settle(reservation, reply())
    assert first.totals() == second.totals() == Ledger(path).totals()
    assert first.totals().spent == 4


def test_the_budget_stops_before_it_is_exceeded_and_says_how_to_go_on(path: Path):
    ledger = Ledger(path, budget=25)
    ledger.settle(reserve(ledger, "a", 16), reply(15, 1))
    with pytest.raises(BudgetReachedError, match=r"16 spent.*can cost 10.*raise the budget"):
        ledger.reserve(wanted("b"), FREE)
    assert isinstance(Ledger(path, budget=26).reserve(wanted("b"), FREE), Reservation)


def test_what_is_under_way_is_waited_for(path: Path, clock: Clock):
    ledger = Ledger(path, budget=15, clock=clock)
    first = reserve(ledger, "a")
    assert isinstance(ledger.reserve(wanted("b"), FREE), Wait)
    ledger.settle(first, reply())
    assert isinstance(ledger.reserve(wanted("b"), FREE), Reservation)


def test_a_job_that_died_is_not_waited_for_and_stays_counted(path: Path, clock: Clock):
    reserve(Ledger(path, clock=clock), "a")
    clock.now += 61
    with pytest.raises(BudgetReachedError, match="10 reserved"):
        Ledger(path, budget=15, clock=clock).reserve(wanted("b"), FREE)


def test_a_call_sent_again_after_its_job_died_is_counted_twice(path: Path):
    reserve(Ledger(path), "a")
    ledger = Ledger(path)
    ledger.settle(reserve(ledger, "a"), reply())
    assert ledger.totals().spent == 14
    assert ledger.totals().calls == {"interrupted": 1, "answered": 1, "open": 0}


@pytest.mark.parametrize(("paid_by", "spent", "reserved"), [("this", 4, 0), ("other", 0, 10)])
def test_the_store_settles_what_its_job_could_not(
    path: Path, tmp_path: Path, paid_by: str, spent: float, reserved: float
):
    request = ChatRequest(model="m", messages=[{"role": "user", "content": "a"}], max_new_tokens=1)
    call = requests.call(request, Identity("local", "m"))
    reservation = reserve(Ledger(path), call.key)
    store = ResponseStore(tmp_path / "replies")
    store.put(call, reply(), reservation=reservation.id if paid_by == "this" else "other")
    ledger = Ledger(path)
    ledger.reconcile(store)
    assert (ledger.totals().spent, ledger.totals().reserved) == (spent, reserved)


def test_a_line_cut_by_a_kill_is_skipped(path: Path, caplog: pytest.LogCaptureFixture):
    ledger = Ledger(path)
    ledger.settle(reserve(ledger, "a"), reply())
    with path.open("ab") as stream:
        stream.write(b'{"event": "reserve", "id": "x", "doll')
    other = Ledger(path)
    other.settle(reserve(other, "b"), reply())
    assert ledger.totals() == other.totals() == Ledger(path).totals()
    assert other.totals().spent == 8
    assert "skipped" in caplog.text
    whole = [line for line in path.read_text("utf-8").splitlines() if line.endswith("}")]
    assert len([json.loads(line) for line in whole]) == 4


@pytest.mark.parametrize("limits", [Limits(requests=3), Limits(tokens=15)])
def test_a_limit_per_minute_holds_over_all_jobs(path: Path, clock: Clock, limits: Limits):
    jobs = [Ledger(path, clock=clock) for _ in range(2)]
    sent = []
    for number in range(9):
        while isinstance(found := jobs[number % 2].reserve(wanted(str(number)), limits), Wait):
            clock.now += found.seconds
        sent.append(clock.now - 1000)
        clock.now += 1
    # Three at once, and again a minute after the first, the second and the third.
    assert sent == [0, 1, 2, 60, 61, 62, 120, 121, 122]


def test_limits_are_those_of_one_model(path: Path, clock: Clock):
    ledger = Ledger(path, clock=clock)
    one = Limits(requests=1)
    assert isinstance(ledger.reserve(wanted("a"), one), Reservation)
    assert isinstance(ledger.reserve(wanted("b", model="other"), one), Reservation)
    assert isinstance(ledger.reserve(wanted("c"), one), Wait)


def test_a_call_larger_than_the_limit_goes_alone(path: Path, clock: Clock):
    ledger, small = Ledger(path, clock=clock), Limits(tokens=3)
    assert isinstance(ledger.reserve(wanted("a"), small), Reservation)
    found = ledger.reserve(wanted("b"), small)
    assert isinstance(found, Wait)
    assert found.seconds == 60


def test_no_tokenizer_makes_more_tokens_than_there_are_bytes():
    request = ChatRequest(
        model="m",
        messages=[{"role": "user", "content": "naïve 北京"}],
        max_new_tokens=7,
        schema={"type": "integer"},
    )
    read, written = most_tokens(request)
    assert read >= len("usernaïve 北京".encode()) + len('{"type": "integer"}')
    assert written == 7
    price = Price(input=2.0, output=10.0)
    assert worst_case(request, price) == pytest.approx((2 * read + 70) / 1e6)


def test_a_clock_that_is_set_back_makes_nobody_wait_for_it(path: Path, clock: Clock):
    ledger = Ledger(path, budget=15, clock=clock)
    clock.now = 1e9
    reserve(ledger, "a")
    clock.now -= 365 * 86400
    # What the dead may have paid is counted, but not waited for.
    with pytest.raises(BudgetReachedError):
        ledger.reserve(wanted("b"), FREE)
    assert isinstance(ledger.reserve(wanted("c", dollars=1), Limits(requests=1)), Reservation)


def test_a_wait_for_a_clock_of_another_machine_is_a_minute_at_most(path: Path, clock: Clock):
    ledger = Ledger(path, clock=clock)
    reserve(ledger, "a")
    clock.now -= 50
    found = ledger.reserve(wanted("b"), Limits(requests=1))
    assert isinstance(found, Wait)
    assert found.seconds <= 60


def test_a_wait_says_what_holds_the_budget(path: Path, clock: Clock):
    ledger = Ledger(path, budget=15, clock=clock)
    ledger.reserve_batch([wanted("a")], "b1")
    found = ledger.reserve(wanted("b"), FREE)
    assert isinstance(found, Wait)
    assert "10 dollars are reserved by 1 calls" in found.reason
    assert "b1" in found.reason


def test_waits_are_said_at_once_and_then_sparsely(clock: Clock, caplog: pytest.LogCaptureFixture):
    caplog.set_level("INFO")
    waiting = Waiting("m", clock)
    for _ in range(100):
        waiting.on("room")
        clock.now += 1
    assert [record.getMessage() for record in caplog.records] == ["m: waits for room"] * 2
