"""The ledger as one model's calls see it."""

import asyncio

from ctxaudit.config.endpoint import EndpointModel
from ctxaudit.llm import prices
from ctxaudit.llm.faults import CallError
from ctxaudit.llm.ledger import Ledger, Wait
from ctxaudit.llm.pacing import Limits
from ctxaudit.llm.prices import Price
from ctxaudit.llm.requests import Call, Completion
from ctxaudit.llm.reservations import Reservation, Wanted

_SECONDS_BEYOND_TIMEOUT = 30.0
_CHARACTERS_PER_TOKEN = 4


class Account:
    """The ledger as one stage sees it; its files are touched in a thread, one turn at a time."""

    def __init__(self, model: EndpointModel, ledger: Ledger, price: Price | None) -> None:
        self._ledger = ledger
        self._price = price
        self._model = f"{model.served_by}/{model.model}"
        traffic = model.traffic
        self._limits = Limits(
            requests=traffic.requests_per_minute, tokens=traffic.tokens_per_minute
        )
        self._seconds = traffic.timeout_seconds + _SECONDS_BEYOND_TIMEOUT
        self._turn = asyncio.Lock()

    async def reserve(self, call: Call) -> Reservation | Wait:
        """Reserve a call's worst case, or say how long to wait."""
        read, written = prices.most_tokens(call.request)
        wanted = Wanted(
            key=call.key,
            model=self._model,
            tokens=read // _CHARACTERS_PER_TOKEN + written,
            dollars=prices.worst_case(call.request, self._price) if self._price else 0.0,
            price=self._price,
            seconds=self._seconds,
        )
        async with self._turn:
            return await asyncio.to_thread(self._ledger.reserve, wanted, self._limits)

    async def settle(self, reservation: Reservation, completion: Completion) -> None:
        """Enter what a reply has cost."""
        async with self._turn:
            await asyncio.to_thread(self._ledger.settle, reservation, completion)

    async def settle_fault(self, reservation: Reservation, fault: CallError) -> None:
        """Enter how a call failed."""
        async with self._turn:
            await asyncio.to_thread(self._ledger.settle_fault, reservation, billed=fault.billed)
