"""The account of all paid calls, shared by every running job.

A call's worst case is reserved before it is sent and settled after its reply. A reservation whose
process was killed stays counted at its worst case, since its call may have been paid; unless the
store holds the very reply, which then says what it cost.

Limits per minute are kept by the same account, since it alone sees the calls of all jobs.
"""

import itertools
import math
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from ctxaudit.errors import UserError
from ctxaudit.llm import reservations
from ctxaudit.llm.journal import Journal, Line
from ctxaudit.llm.pacing import Limits, Window
from ctxaudit.llm.requests import Completion
from ctxaudit.llm.reservations import Outcome, Reservation, Wanted
from ctxaudit.llm.store import ResponseStore, read

_SECONDS_BETWEEN_LOOKS = 0.5


class BudgetReachedError(UserError):
    """The next call could exceed the budget; nothing that was answered is lost."""


class InBatchError(UserError):
    """The call is part of a batch that is under way."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A reservation must wait for so many seconds and then be asked for again.

    Attributes:
        reason: What it waits for, in words.
    """

    seconds: float
    reason: str


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
            InBatchError: if the call is part of a batch.
        """
        with self._turn() as write:
            # One process at a time sends a key: this one's earlier call has lost its process.
            for old in [item for item in self._open.values() if item.key == wanted.key]:
                if old.batch:
                    raise InBatchError(
                        f"a call to {wanted.model} is part of a batch that is under way "
                        f"({old.batch}); run again to wait for it"
                    )
                write(reservations.ended(old, "interrupted"))
            now = self._clock()
            window = self._windows[wanted.model]
            wait = window.seconds_to_wait(now, wanted.tokens, limits)
            if wait:
                return Wait(wait, "the limits per minute")
            wait = self._seconds_for_budget(wanted, now)
            if wait:
                return Wait(wait, self._what_holds_the_budget())
            reservation = reservations.made(wanted, now)
            write({"event": "reserve", **asdict(reservation)})
            return reservation

    def reserve_batch(self, wanted: Sequence[Wanted], batch: str) -> list[Reservation]:
        """Reserve the worst case of as many calls of a batch as the budget holds, in their order.

        Left out are calls that others have reserved. Limits per minute do not hold for batches.

        Raises:
            BudgetReachedError: if none fits, even after all that is under way.
        """
        with self._turn() as write:
            now = self._clock()
            taken = {item.key for item in self._open.values()}
            free = [item for item in wanted if item.key not in taken]
            costs = itertools.accumulate(item.dollars for item in free)
            room = self._room()
            made = [
                reservations.made(item, now, batch)
                for item, cost in zip(free, costs, strict=True)
                if cost <= room
            ]
            if free and not made:
                self._seconds_for_budget(free[0], now)
            write(*({"event": "reserve", **asdict(item)} for item in made))
            return made

    def held(self, keys: Collection[str]) -> list[Reservation]:
        """The open reservations of these calls."""
        with self._turn():
            return [item for item in self._open.values() if item.key in keys]

    def of_batch(self, batch: str) -> dict[str, Reservation]:
        """The open reservations of a batch, by the key of their call."""
        with self._turn():
            return {item.key: item for item in self._open.values() if item.batch == batch}

    def settle(self, reservation: Reservation, reply: Completion) -> None:
        """Replace a reservation by what its reply has cost."""
        self.settle_all([(reservation, reply)])

    def settle_fault(self, reservation: Reservation, *, billed: bool) -> None:
        """Release a reservation whose call failed, or keep it where the call may be billed."""
        self.settle_all([(reservation, "unknown" if billed else "rejected")])

    def settle_all(self, ends: Iterable[tuple[Reservation, Completion | Outcome]]) -> None:
        """Enter how calls ended: by what their reply has cost, or by their outcome."""
        with self._turn() as write:
            # Another process may have settled some by the store.
            write(*(reservations.ended(item, end) for item, end in ends if item.id in self._open))

    def reconcile(self, store: ResponseStore) -> None:
        """Settle what killed processes had stored but not settled."""
        with self._turn() as write:
            for item in list(self._open.values()):
                entry = store.entry(item.key) or {}
                reply = read(entry)
                if reply is not None and entry.get("reservation") == item.id:
                    write(reservations.ended(item, reply))

    def totals(self) -> Totals:
        """The account as it stands."""
        with self._turn():
            reserved = sum(item.dollars for item in self._open.values())
            calls = {**self._calls, "open": len(self._open)}
            return Totals(spent=self._spent, reserved=reserved, calls=calls)

    @contextmanager
    def _turn(self) -> Iterator[Callable[..., None]]:
        with self._journal.turn() as (news, append):
            self._journal.apply(news, self._apply)

            def write(*lines: Line) -> None:
                for left, line in enumerate(lines, start=1 - len(lines)):
                    # A lost settlement leaves the worst case; a lost reservation nothing.
                    append(line, lasting=line["event"] == "reserve" and left == 0)
                    self._apply(line)

            yield write

    def _apply(self, line: Line) -> None:
        if line["event"] == "reserve":
            item = reservations.entered(line)
            self._open[item.id] = item
            if not item.batch:
                self._windows[item.model].add(item.time, item.tokens)
        else:
            ending = reservations.ending(line)
            if self._open.pop(ending.id, None):
                self._spent += ending.dollars
                self._calls[ending.outcome] += 1

    def _room(self) -> float:
        """Dollars that are neither spent nor reserved."""
        reserved = sum(item.dollars for item in self._open.values())
        return math.inf if self._budget is None else self._budget - self._spent - reserved

    def what_holds_the_budget(self) -> str:
        """Whose reservations leave no room, in words."""
        with self._turn():
            return self._what_holds_the_budget()

    def _what_holds_the_budget(self) -> str:
        reserved = sum(item.dollars for item in self._open.values())
        batches = sorted({item.batch for item in self._open.values() if item.batch})
        in_batches = f", among them the batches {', '.join(batches[:3])}" if batches else ""
        return (
            f"budget: {reserved:.4g} dollars are reserved by {len(self._open)} calls under "
            f"way{in_batches}"
        )

    def _seconds_for_budget(self, wanted: Wanted, now: float) -> float:
        if self._budget is None:
            return 0.0
        held = [item.dollars for item in self._open.values() if not item.is_under_way(now)]
        under_way = [item.dollars for item in self._open.values() if item.is_under_way(now)]
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
