"""Calls to an endpoint: claimed, reserved, sent, tried again, stored and settled."""

import asyncio
import itertools
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from ctxaudit import logs
from ctxaudit.config.endpoint import EndpointModel
from ctxaudit.errors import UserError
from ctxaudit.llm import prices, retries
from ctxaudit.llm.claims import Claims
from ctxaudit.llm.endpoint import Connection, Endpoint, check_name
from ctxaudit.llm.faults import RETRIED, CallError
from ctxaudit.llm.ledger import Ledger, Reservation, Wait, Wanted
from ctxaudit.llm.pacing import Limits
from ctxaudit.llm.prices import Price
from ctxaudit.llm.requests import Answer, Call, Completion, Identity
from ctxaudit.llm.store import ResponseStore
from ctxaudit.logs import logger

_SECONDS_BETWEEN_LOOKS = 0.05
_SECONDS_BEYOND_TIMEOUT = 30.0
_CHARACTERS_PER_TOKEN = 4
_CHARACTERS_SHOWN = 80


class Sender:
    """Replies of a chat endpoint, several calls at once."""

    scores_choices = False

    def __init__(self, model: EndpointModel, ledger: Ledger, price: Price | None) -> None:
        self.identity = Identity(model.served_by, model.model)
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
        self._ledger.reconcile(store)
        stage = _Stage(self._model, self._ledger, self._price, store)
        try:
            return asyncio.run(stage.send(calls))
        finally:
            totals = self._ledger.totals()
            logger.info(
                "account of all jobs: %.4f dollars spent, %.4f reserved; calls by outcome: %s",
                totals.spent,
                totals.reserved,
                dict(totals.calls),
            )


class _Stage:
    """One run over a list of calls."""

    def __init__(
        self, model: EndpointModel, ledger: Ledger, price: Price | None, store: ResponseStore
    ) -> None:
        self._model = model
        self._store = store
        self._claims = Claims(store.folder / "claims")
        self._account = _Account(model, ledger, price)
        self._stopped: list[UserError] = []

    async def send(self, calls: Sequence[Call]) -> list[Completion]:
        waiting = deque(enumerate(calls))
        replies: dict[int, Completion] = {}
        label = f"asking {self._model.model}"
        ticks = logs.progress(itertools.count(), total=len(calls), label=label)
        next(ticks)  # Up to the first item; each further step counts a reply.
        async with Endpoint(self._model).connection() as connection:

            async def work() -> None:
                seen_elsewhere: set[int] = set()
                while waiting and not self._stopped:
                    at, call = waiting.popleft()
                    reply = await self._answer(connection, call)
                    if reply is not None:
                        replies[at] = reply
                        next(ticks)
                    elif not self._stopped:
                        # Another process is at it: go on with what is free, then look again.
                        waiting.append((at, call))
                        again = at in seen_elsewhere
                        seen_elsewhere.add(at)
                        await asyncio.sleep(_SECONDS_BETWEEN_LOOKS if again else 0)

            num_workers = min(self._model.traffic.max_in_flight, len(calls))
            await asyncio.gather(*(work() for _ in range(num_workers)))
        if self._stopped:
            raise self._stopped[0]
        return [replies[at] for at in range(len(calls))]

    async def _answer(self, connection: Connection, call: Call) -> Completion | None:
        """The reply, or None while another process asks for it or after a fault that stops all."""
        if not self._claims.take(call.key):
            return self._store.get(call.key)
        try:
            return self._store.get(call.key) or await self._ask(connection, call)
        except UserError as error:
            self._stopped.append(error)
            return None
        finally:
            self._claims.give_up(call.key)

    async def _ask(self, connection: Connection, call: Call) -> Completion:
        for attempt in itertools.count(1):
            reservation = await self._account.reserve(call)
            try:
                answer = await connection.call(call.request)
            except CallError as fault:
                await self._account.settle_fault(reservation, fault)
                if fault.kind == "policy":
                    return self._keep(call, _refusal(fault), reservation)
                if fault.kind not in RETRIED or attempt >= self._model.traffic.max_attempts:
                    raise self._given_up(call, fault, attempt) from None
                wait = retries.seconds_to_wait(attempt, fault)
                logger.info("%s: %s; again in %.1f s", self._model.model, fault.words, wait)
                await asyncio.sleep(wait)
            else:
                return await self._take(call, answer, reservation)
        raise AssertionError("unreachable")

    async def _take(self, call: Call, answer: Answer, reservation: Reservation) -> Completion:
        try:
            check_name(answer.completion, self._model)
            # Stored first: what is stored but not settled can still be settled, by anyone.
            return self._keep(call, answer, reservation)
        finally:
            await self._account.settle(reservation, answer.completion)

    def _keep(self, call: Call, answer: Answer, reservation: Reservation) -> Completion:
        return self._store.put(call, answer.completion, raw=answer.raw, reservation=reservation.id)

    def _given_up(self, call: Call, fault: CallError, attempts: int) -> UserError:
        end = call.request.messages[-1]["content"][-_CHARACTERS_SHOWN:]
        return UserError(
            f"{self._model.model} at {self._model.base_url}: {fault.words}, after {attempts} "
            f"attempt{'s' * (attempts > 1)}; all replies are kept, run again to go on. The call "
            f"ends in {end!r}"
        )


def _refusal(fault: CallError) -> Answer:
    completion = Completion(text="", finish="refusal")
    return Answer(completion=completion, raw={"fault": fault.words})


class _Account:
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

    async def reserve(self, call: Call) -> Reservation:
        read, written = prices.most_tokens(call.request)
        wanted = Wanted(
            key=call.key,
            model=self._model,
            tokens=read // _CHARACTERS_PER_TOKEN + written,
            dollars=prices.worst_case(call.request, self._price) if self._price else 0.0,
            price=self._price,
            seconds=self._seconds,
        )
        while True:
            async with self._turn:
                found = await asyncio.to_thread(self._ledger.reserve, wanted, self._limits)
            if not isinstance(found, Wait):
                return found
            await asyncio.sleep(found.seconds)

    async def settle(self, reservation: Reservation, completion: Completion) -> None:
        async with self._turn:
            await asyncio.to_thread(self._ledger.settle, reservation, completion)

    async def settle_fault(self, reservation: Reservation, fault: CallError) -> None:
        async with self._turn:
            await asyncio.to_thread(self._ledger.settle_fault, reservation, billed=fault.billed)
