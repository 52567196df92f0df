"""Calls to an endpoint, alone or in batches (OpenAI's Batch API), under the same keys.

The ledger says who has a call: what is reserved, alone or in a batch, is nobody else's. The journal
says where a batch is, and a claim who looks after it; the batches of a killed job fall to the next.
"""

import contextlib
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ctxaudit.config.endpoint import EndpointModel
from ctxaudit.errors import UserError
from ctxaudit.llm import batch_endpoint
from ctxaudit.llm.batch_endpoint import BatchConnection
from ctxaudit.llm.batch_harvest import Harvester
from ctxaudit.llm.batch_journal import BatchJournal
from ctxaudit.llm.batch_keeper import Keeper
from ctxaudit.llm.batch_submitter import Submitter
from ctxaudit.llm.claims import Claims
from ctxaudit.llm.endpoint import check_name, given_up
from ctxaudit.llm.faults import RETRIED, CallError
from ctxaudit.llm.ledger import InBatchError, Ledger
from ctxaudit.llm.prices import Price
from ctxaudit.llm.requests import Call, Completion
from ctxaudit.llm.reservations import Reservation
from ctxaudit.llm.sending import Sender
from ctxaudit.llm.store import ResponseStore
from ctxaudit.logs import logger


class EndpointBackend:
    """Replies by batches where they are switched on, else by single calls.

    Calls that are part of a batch already are waited for in both cases.
    """

    scores_choices = False

    def __init__(self, model: EndpointModel, ledger: Ledger, price: Price | None) -> None:
        self._sender = Sender(model, ledger, price)
        self.identity = self._sender.identity
        self.sampling: Mapping[str, Any] = self._sender.sampling
        self.takes_schema = self._sender.takes_schema
        self._model = model
        self._ledger = ledger
        self._price = price

    def check(self, reply: Completion) -> None:
        """See that a stored reply is from the model that is asked.

        Raises:
            UserError: if it is from another.
        """
        check_name(reply, self._model)

    def complete(
        self, calls: Sequence[Call], store: ResponseStore, *, batch_size: int
    ) -> list[Completion]:
        """The reply to each call, in their order; `batch_size` has no effect.

        Raises:
            UserError: naming model and fault, if a call or batch fails for good. Batches that are
                under way stay at the endpoint; the next run collects them.
            BudgetReachedError: likewise, at the limit.
        """
        try:
            return self._complete(calls, store)
        except OSError as error:
            raise UserError(
                f"{error.filename or store.folder}: the store of replies or its account cannot be "
                f"used: {error.strerror or error}. Nothing more is sent; make room or make it "
                "writable, and run again to go on"
            ) from error

    def _complete(self, calls: Sequence[Call], store: ResponseStore) -> list[Completion]:
        self._ledger.reconcile(store)
        try:
            with contextlib.ExitStack() as opened:
                stage = _Stage(self._model, self._ledger, self._price, store, opened)
                return stage.answer(calls, self._sender)
        finally:
            totals = self._ledger.totals()
            logger.info(
                "account of all jobs: %.4f dollars spent, %.4f reserved; calls by outcome: %s",
                totals.spent,
                totals.reserved,
                dict(totals.calls),
            )


class _Stage:
    """One run over a list of calls.

    Args:
        opened: Closes what is opened here.
    """

    def __init__(
        self,
        model: EndpointModel,
        ledger: Ledger,
        price: Price | None,
        store: ResponseStore,
        opened: contextlib.ExitStack,
    ) -> None:
        self._model = model
        self._ledger = ledger
        self._store = store
        self._opened = opened
        name = f"{model.served_by}/{model.model}"
        journal = BatchJournal(store.folder / "batches")
        claims = Claims(store.folder / "claims")
        harvester = Harvester(model, ledger, store, journal)
        self._keeper = Keeper(name, ledger, journal, claims, harvester, self._connect)
        opened.callback(self._keeper.leave_all)
        self._submitter = Submitter(
            name, model, ledger, price, store, journal, self._keeper, self._connect
        )
        self._waiting: dict[str, Call] = {}
        self._replies: dict[str, Completion] = {}
        self._attempts: Counter[str] = Counter()
        self._ahead: frozenset[str] = frozenset()
        self._connection: BatchConnection | None = None

    def answer(self, calls: Sequence[Call], sender: Sender) -> list[Completion]:
        self._waiting = {call.key: call for call in calls}
        while True:
            failed = self._keeper.attend(self._attended())
            self._count_attempts(failed)
            free = self._free()
            # What failed is asked again after a pause.
            if free and not failed:
                self._ask(free, sender)
            if not self._waiting:
                return [self._replies[call.key] for call in calls]
            time.sleep(self._model.traffic.batch.poll_seconds)

    def _connect(self) -> BatchConnection:
        """The client, opened when it is first needed."""
        if self._connection is None:
            self._connection = self._opened.enter_context(batch_endpoint.connection(self._model))
        return self._connection

    def _free(self) -> list[Call]:
        """The calls that are neither answered nor anybody's; answered ones wait no more."""
        self._keeper.release(self._held())
        held = {item.key for item in self._held()}
        for key in self._waiting.keys() - held:
            reply = self._store.get(key)
            if reply is not None:
                check_name(reply, self._model)
                self._replies[key] = reply
                del self._waiting[key]
        return [call for key, call in self._waiting.items() if key not in held]

    def _attended(self) -> Collection[str]:
        """The batches to collect: all, since their reservations hold the budget, or else ours."""
        if self._model.traffic.batch.enabled:
            return self._keeper.open().keys()
        return {item.batch for item in self._held()}

    def _held(self) -> list[Reservation]:
        """Reservations of calls that wait. A single call looks itself after other single ones."""
        is_batch = self._model.traffic.batch.enabled
        return [item for item in self._ledger.held(self._waiting) if is_batch or item.batch]

    def _ask(self, free: Sequence[Call], sender: Sender) -> None:
        if not self._model.traffic.batch.enabled:
            # Another job may have put some of them into a batch meanwhile.
            with contextlib.suppress(InBatchError):
                sender.complete(free, self._store, batch_size=1)
            self._free()
        elif not self._ahead or self._ahead - self._keeper.open().keys():
            self._submitter.submit(free)

    def _count_attempts(self, failed: Mapping[str, CallError]) -> None:
        """Count how often our calls have failed.

        Raises:
            UserError: if one is not to be tried again.
        """
        if any(fault.kind == "rate" for fault in failed.values()):
            self._ahead = frozenset(self._keeper.open())
        for key in failed.keys() & self._waiting.keys():
            fault = failed[key]
            # Room comes when a batch ends: while there is one it says nothing of the call.
            self._attempts[key] += fault.kind != "rate" or not self._ahead
            attempts = self._attempts[key]
            if fault.kind not in RETRIED or attempts >= self._model.traffic.max_attempts:
                raise given_up(self._model, self._waiting[key], fault, attempts)
