"""The account of all paid calls, shared by every running job.

A call's worst case is reserved before it is sent and settled after its reply. A reservation whose
process was killed stays counted at its worst case, since its call may have been paid; unless the
store holds the very reply, which then says what it cost.

Limits per minute are kept by the same account, since it alone sees the calls of all jobs.
"""

import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from ctxaudit.errors import UserError
from ctxaudit.llm.journal import Journal, Line
from ctxaudit.llm.pacing import Limits, Window
from ctxaudit.llm.prices import Price
from ctxaudit.llm.requests import Completion
from ctxaudit.llm.store import ResponseStore, read

Outcome = Literal["answered", "rejected", "unknown", "interrupted"]
"""How a reservation ended: with a reply, with an error that is not billed, with a fault after
which nobody knows whether it is (time-out, broken connection), or with its process."""

_SECONDS_BETWEEN_LOOKS = 0.5


class BudgetReachedError(UserError):
    """The next call could exceed the budget; nothing that was answered is lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be reserved.

    Attributes:
        key: The call's key, to which the caller holds the claim.
        model: Provider and model.
        tokens: What the limits per minute reckon the call with.
        dollars: Its worst case; 0 where no price is known.
        price: What its reply will be settled at, or None.
        seconds: How long the call can take; nobody waits for an older reservation.
    """

    key: str
    model: str
    tokens: int
    dollars: float
    price: Price | None
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """The worst case of a call about to be sent, in dollars.

    Attributes:
        id: Its own name.
        expires: Seconds since the epoch, when its process has settled it or is dead.
    """

    id: str
    key: str
    dollars: float
    price: Price | None
    expires: float


@dataclass(frozen=True, slots=True)
class Wait:
    """A reservation must wait for so many seconds and then be asked for again."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The account.

    Attributes:
        spent: Dollars settled.
        reserved: Dollars of calls that are not settled.
        calls: Number of calls by outcome; `open` are not settled.
    """

    spent: float
    reserved: float
    calls: Mapping[str, int]


class Ledger:
    """The account in a journal.

    Args:
        path: The journal.
        budget: Dollars that all calls of the account together may cost, or None.
        clock: Seconds since the epoch.
    """

    def __init__(
        self, path: Path, *, budget: float | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._journal = Journal(path)
        self._budget = budget
        self._clock = clock
        self._spent = 0.0
        self._open: dict[str, Reservation] = {}
        self._calls: dict[str, int] = defaultdict(int)
        self._windows: dict[str, Window] = defaultdict(Window)

    def reserve(self, wanted: Wanted, limits: Limits) -> Reservation | Wait:
        """Reserve a call's worst case, or say how long to wait.

        Raises:
            BudgetReachedError: if the worst case does not fit, even after all that is under way.
        """
        with self._turn() as write:
            # One process at a time sends a key: this one's earlier call has lost its process.
            for old in [item for item in self._open.values() if item.key == wanted.key]:
                write(_settled(old, old.dollars, "interrupted"))
            now = self._clock()
            window = self._windows[wanted.model]
            wait = window.seconds_to_wait(now, wanted.tokens, limits)
            wait = wait or self._seconds_for_budget(wanted, now)
            if wait:
                return Wait(wait)
            reservation = Reservation(
                id=uuid.uuid4().hex,
                key=wanted.key,
                dollars=wanted.dollars,
                price=wanted.price,
                expires=now + wanted.seconds,
            )
            write(
                {
                    "event": "reserve",
                    **asdict(reservation),
                    "model": wanted.model,
                    "tokens": wanted.tokens,
                    "time": now,
                }
            )
            return reservation

    def settle(self, reservation: Reservation, reply: Completion) -> None:
        """Replace a reservation by what its reply has cost."""
        self._settle(reservation, _cost(reservation, reply), "answered")

    def settle_fault(self, reservation: Reservation, *, billed: bool) -> None:
        """Release a reservation whose call failed, or keep it where the call may be billed."""
        outcome: Outcome = "unknown" if billed else "rejected"
        self._settle(reservation, reservation.dollars if billed else 0.0, outcome)

    def reconcile(self, store: ResponseStore) -> None:
        """Settle what killed processes had stored but not settled."""
        with self._turn() as write:
            for item in list(self._open.values()):
                entry = store.entry(item.key) or {}
                reply = read(entry)
                if reply is not None and entry.get("reservation") == item.id:
                    write(_settled(item, _cost(item, reply), "answered"))

    def totals(self) -> Totals:
        """The account as it stands."""
        with self._turn():
            reserved = sum(item.dollars for item in self._open.values())
            calls = {**self._calls, "open": len(self._open)}
            return Totals(spent=self._spent, reserved=reserved, calls=calls)

    def _settle(self, item: Reservation, dollars: float, outcome: Outcome) -> None:
        with self._turn() as write:
            # Another process may have settled it by the store.
            if item.id in self._open:
                write(_settled(item, dollars, outcome))

    @contextmanager
    def _turn(self) -> Iterator[Callable[[Line], None]]:
        with self._journal.turn() as (news, append):
            for line in news:
                self._apply(line)

            def write(line: Line) -> None:
                # A lost settlement leaves the worst case; a lost reservation would leave nothing.
                append(line, lasting=line["event"] == "reserve")
                self._apply(line)

            yield write

    def _apply(self, line: Line) -> None:
        if line["event"] == "reserve":
            price = Price(**line["price"]) if line["price"] else None
            self._open[line["id"]] = Reservation(
                id=line["id"],
                key=line["key"],
                dollars=line["dollars"],
                price=price,
                expires=line["expires"],
            )
            self._windows[line["model"]].add(line["time"], line["tokens"])
        elif self._open.pop(line["id"], None):
            self._spent += line["dollars"]
            self._calls[line["outcome"]] += 1

    def _seconds_for_budget(self, wanted: Wanted, now: float) -> float:
        if self._budget is None:
            return 0.0
        held = [item.dollars for item in self._open.values() if item.expires <= now]
        under_way = [item.dollars for item in self._open.values() if item.expires > now]
        fixed = self._spent + sum(held) + wanted.dollars
        if fixed + sum(under_way) <= self._budget:
            return 0.0
        if fixed <= self._budget:
            # What is under way will be settled below its worst case.
            return _SECONDS_BETWEEN_LOOKS
        raise BudgetReachedError(
            f"llm.budget_usd: {self._budget:.4g} dollars are reached: {self._spent:.4g} spent, "
            f"{sum(held) + sum(under_way):.4g} reserved, and the next call of {wanted.model} can "
            f"cost {wanted.dollars:.4g}; all replies are kept: raise the budget and run again to "
            f"go on. The account is {self._journal.path}"
        )


def _settled(item: Reservation, dollars: float, outcome: Outcome) -> Line:
    return {"event": "settle", "id": item.id, "dollars": dollars, "outcome": outcome}


def _cost(item: Reservation, reply: Completion) -> float:
    if item.price is None:
        return 0.0
    # Without usage nobody knows what it was.
    return (
        item.price.of(reply.prompt_tokens, reply.new_tokens)
        if reply.prompt_tokens
        else item.dollars
    )
