"""Calls to an endpoint: claimed, reserved, sent, tried again, stored and settled."""

import asyncio
import contextlib
import itertools
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ctxaudit import logs
from ctxaudit.config.endpoint import EndpointModel
from ctxaudit.llm import retries
from ctxaudit.llm.account import Account
from ctxaudit.llm.claims import Claims
from ctxaudit.llm.endpoint import Connection, Endpoint, check_name, given_up
from ctxaudit.llm.faults import RETRIED, CallError, refusal
from ctxaudit.llm.ledger import Ledger, Wait
from ctxaudit.llm.prices import Price
from ctxaudit.llm.requests import Answer, Call, Completion, Identity
from ctxaudit.llm.reservations import Reservation
from ctxaudit.llm.store import ResponseStore
from ctxaudit.llm.waiting import Waiting
from ctxaudit.logs import logger

_SECONDS_BETWEEN_LOOKS = 0.05


class Sender:
    """Replies of a chat endpoint, several calls at once."""

    scores_choices = False

    def __init__(self, model: EndpointModel, ledger: Ledger, price: Price | None) -> None:
        self.identity = Identity(model.served_by, model.model, model.structured_output)
        self.sampling: Mapping[str, Any] = model.sampling.model_dump(exclude_none=True)
        self.takes_schema = model.structured_output != "none"
        self._model = model
        self._ledger = ledger
        self._price = price

    def complete(
        self, calls: Sequence[Call], store: ResponseStore, *, batch_size: int
    ) -> list[Completion]:
        """The reply to each call, in their order; `batch_size` has no effect.

        Raises:
            UserError: naming model and fault, if a call fails for good. What is under way by then
                is waited for and kept.
            BudgetReachedError: likewise, at the limit.
        """
        stage = _Stage(self._model, self._ledger, self._price, store)
        return asyncio.run(stage.send(calls))


class _Stage:
    """One run over a list of calls."""

    def __init__(
        self, model: EndpointModel, ledger: Ledger, price: Price | None, store: ResponseStore
    ) -> None:
        self._model = model
        self._store = store
        self._claims = Claims(store.folder / "claims")
        self._account = Account(model, ledger, price)
        self._waiting: deque[tuple[int, Call]] = deque()
        self._replies: dict[int, Completion] = {}
        self._fault: Exception | None = None
        self._stopped = asyncio.Event()
        self._waiting_for = Waiting(model.model)

    async def send(self, calls: Sequence[Call]) -> list[Completion]:
        self._waiting.extend(enumerate(calls))
        label = f"asking {self._model.model}"
        ticks = logs.progress(itertools.count(), total=len(calls), label=label)
        next(ticks)  # Up to the first item; each further step counts a reply.
        async with Endpoint(self._model).connection() as connection:
            num_workers = min(self._model.traffic.max_in_flight, len(calls))
            await asyncio.gather(*(self._work(connection, ticks) for _ in range(num_workers)))
        if self._fault:
            raise self._fault
        return [self._replies[at] for at in range(len(calls))]

    async def _work(self, connection: Connection, ticks: Iterator[int]) -> None:
        """Take calls from those that wait, until there are none or a fault stops all."""
        seen_elsewhere: set[int] = set()
        while self._waiting and not self._fault:
            at, call = self._waiting.popleft()
            try:
                reply = await self._answer(connection, call)
            # Of any kind: an error that left here would cancel the other calls, which are paid.
            except Exception as fault:
                self._fault = self._fault or fault
                self._stopped.set()
                return
            if reply is not None:
                self._replies[at] = reply
                next(ticks)
                continue
            # Another process is at it: go on with what is free, then look again.
            self._waiting.append((at, call))
            if at in seen_elsewhere:
                self._waiting_for.on("calls that another job has sent")
            await asyncio.sleep(_SECONDS_BETWEEN_LOOKS if at in seen_elsewhere else 0)
            seen_elsewhere.add(at)

    async def _answer(self, connection: Connection, call: Call) -> Completion | None:
        """The reply, or None while another process asks for it."""
        reply = self._store.get(call.key)
        if reply is not None or not self._claims.take(call.key):
            return reply
        try:
            # It may have come between the look and the claim.
            reply = self._store.get(call.key)
            if reply is None:
                self._store.check_writable([call.key])
                reply = await self._ask(connection, call)
            return reply
        finally:
            self._claims.give_up(call.key)

    async def _ask(self, connection: Connection, call: Call) -> Completion:
        for attempt in itertools.count(1):
            reservation = await self._reserve(call)
            try:
                answer = await connection.call(call.request)
            except CallError as fault:
                await self._account.settle_fault(reservation, fault)
                if fault.kind == "policy":
                    return self._keep(call, refusal(fault), reservation)
                if fault.kind not in RETRIED or attempt >= self._model.traffic.max_attempts:
                    raise given_up(self._model, call, fault, attempt) from None
                wait = retries.seconds_to_wait(attempt, fault)
                logger.info("%s: %s; again in %.1f s", self._model.model, fault.words, wait)
                await self._pause(wait)
            else:
                return await self._take(call, answer, reservation)
        raise AssertionError("unreachable")

    async def _reserve(self, call: Call) -> Reservation:
        while isinstance(found := await self._account.reserve(call), Wait):
            self._waiting_for.on(found.reason)
            await self._pause(found.seconds)
        return found

    async def _pause(self, seconds: float) -> None:
        """Wait, but no longer than until a fault stops all."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopped.wait(), seconds)
        if self._fault:
            raise self._fault

    async def _take(self, call: Call, answer: Answer, reservation: Reservation) -> Completion:
        try:
            # Stored first: what is stored but not settled can still be settled, by anyone.
            reply = self._keep(call, answer, reservation)
        finally:
            await self._account.settle(reservation, answer.completion)
        check_name(reply, self._model)
        return reply

    def _keep(self, call: Call, answer: Answer, reservation: Reservation) -> Completion:
        return self._store.put(call, answer.completion, raw=answer.raw, reservation=reservation.id)
