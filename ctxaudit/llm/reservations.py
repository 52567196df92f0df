"""What the account holds back for a call until its cost is known."""

import math
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from ctxaudit.llm.journal import Line
from ctxaudit.llm.prices import Price
from ctxaudit.llm.requests import Completion
from ctxaudit.logs import logger

_ROUNDING = 1e-9
_SECONDS_CLOCKS_DIFFER = 60.0

Outcome = Literal["answered", "rejected", "unknown", "interrupted"]
"""How a reservation ended: with a reply, with an error that is not billed, with a fault after
which nobody knows whether it is (time-out, broken connection), or with its process."""


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
        model: Provider and model.
        tokens: What the limits per minute reckon it with.
        time: Seconds since the epoch, when it was made.
        batch: Our name of the batch that the call is part of; empty for one sent alone.
    """

    id: str
    key: str
    dollars: float
    price: Price | None
    expires: float
    model: str
    tokens: int
    time: float
    batch: str = ""

    def is_under_way(self, now: float) -> bool:
        """Whether it may still be settled; one from the future is of a clock that was set back."""
        return self.time - _SECONDS_CLOCKS_DIFFER <= now < self.expires


def made(wanted: Wanted, now: float, batch: str = "") -> Reservation:
    """A new reservation."""
    return Reservation(
        id=uuid.uuid4().hex,
        key=wanted.key,
        dollars=wanted.dollars,
        price=wanted.price,
        expires=now + wanted.seconds,
        model=wanted.model,
        tokens=wanted.tokens,
        time=now,
        batch=batch,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How the reservation of this name ended, and what for."""

    id: str
    dollars: float
    outcome: str


def entered(line: Line) -> Reservation:
    """The reservation that a line enters.

    Raises:
        KeyError, TypeError, ValueError: if it enters none.
    """
    fields = {name: value for name, value in line.items() if name != "event"}
    price = Price(**fields["price"]) if fields["price"] else None
    item = Reservation(**{**fields, "price": price})
    if not all(isinstance(text, str) for text in (item.id, item.key, item.model, item.batch)):
        raise TypeError
    numbers = [item.dollars, item.expires, item.tokens, item.time]
    _check_amounts([*numbers, price.input, price.output] if price else numbers)
    return item


def ending(line: Line) -> Ending:
    """The end that a line enters; likewise."""
    found = Ending(id=line["id"], dollars=line["dollars"], outcome=line["outcome"])
    if line["event"] != "settle" or not isinstance(found.id, str):
        raise TypeError
    if found.outcome not in get_args(Outcome):
        raise ValueError
    _check_amounts([found.dollars])
    return found


def _check_amounts(numbers: Iterable[float]) -> None:
    # One that is negative would be credit.
    if not all(math.isfinite(number) and number >= 0 for number in numbers):
        raise ValueError


def ended(item: Reservation, end: Completion | Outcome) -> Line:
    """The line that enters how a call ended: by what its reply has cost, or by its outcome."""
    if isinstance(end, Completion):
        dollars, outcome = _cost(item, end), "answered"
    else:
        dollars, outcome = 0.0 if end == "rejected" else item.dollars, end
    return {"event": "settle", "id": item.id, "dollars": dollars, "outcome": outcome}


def _cost(item: Reservation, reply: Completion) -> float:
    if item.price is None:
        return 0.0
    read, written = reply.prompt_tokens, reply.new_tokens
    # No prompt has no tokens.
    cost = item.price.of(read, written) if read and written is not None else math.nan
    # Of cost and worst case, sums of the same terms, either may be rounded up.
    if 0 <= cost <= item.dollars * (1 + _ROUNDING):
        return cost
    logger.warning(
        "%s: a reply without a usage that can be believed (%s tokens read, %s written) counts at "
        "its worst case",
        item.model,
        read,
        written,
    )
    return item.dollars
