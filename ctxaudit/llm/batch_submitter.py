"""Calls become batches: reserved, entered, uploaded and created, in this order."""

import uuid
from collections.abc import Callable, Sequence

from ctxaudit.config.endpoint import EndpointModel
from ctxaudit.llm import batch_files, prices
from ctxaudit.llm.batch_endpoint import BatchConnection, NotDoneError
from ctxaudit.llm.batch_journal import BatchJournal, Submission
from ctxaudit.llm.batch_keeper import Keeper
from ctxaudit.llm.ledger import Ledger
from ctxaudit.llm.prices import Price
from ctxaudit.llm.requests import Call
from ctxaudit.llm.reservations import Wanted
from ctxaudit.llm.store import ResponseStore
from ctxaudit.llm.waiting import Waiting
from ctxaudit.logs import logger

_SECONDS_UNDER_WAY = 25 * 3600.0
"""A batch ends after 24 hours; its files take a little longer."""


class Submitter:
    """Submits calls that nobody has asked.

    Args:
        name: Provider and model.
        price: Of single calls, or None.
        connect: Gives the open client.
    """

    def __init__(
        self,
        name: str,
        model: EndpointModel,
        ledger: Ledger,
        price: Price | None,
        store: ResponseStore,
        journal: BatchJournal,
        keeper: Keeper,
        connect: Callable[[], BatchConnection],
    ) -> None:
        self._name = name
        self._model = model
        self._ledger = ledger
        self._price = price.in_batch() if price else None
        self._store = store
        self._journal = journal
        self._keeper = keeper
        self._connect = connect
        self._waiting_for = Waiting(name)

    def submit(self, calls: Sequence[Call]) -> None:
        """Submit as many of the calls as the budget holds now.

        Raises:
            UserError: if a call is too large, or the endpoint takes no batch.
            OSError: if the replies could not be stored.
            BudgetReachedError: if none fits the budget, even after all that is under way.
        """
        self._store.check_writable(call.key for call in calls)
        for part in batch_files.split(calls, self._model, self._model.traffic.batch):
            name = uuid.uuid4().hex
            self._keeper.take(name)
            reserved = self._reserve(part, name)
            if reserved:
                self._create(self._journal.plan(name, self._name, reserved), reserved)
            else:
                self._keeper.leave(name)
                self._waiting_for.on(self._ledger.what_holds_the_budget())

    def _reserve(self, calls: Sequence[Call], name: str) -> list[Call]:
        """The calls that this batch, and nobody else, has."""
        held = self._ledger.reserve_batch([self._wanted(call) for call in calls], name)
        # Another job may have had a reply just before.
        answered = [item for item in held if self._store.get(item.key) is not None]
        self._ledger.settle_all((item, "rejected") for item in answered)
        keys = {item.key for item in held} - {item.key for item in answered}
        return [call for call in calls if call.key in keys]

    def _wanted(self, call: Call) -> Wanted:
        return Wanted(
            key=call.key,
            model=self._name,
            tokens=sum(prices.most_tokens(call.request)),
            dollars=prices.worst_case(call.request, self._price) if self._price else 0.0,
            price=self._price,
            seconds=_SECONDS_UNDER_WAY,
        )

    def _create(self, submission: Submission, calls: Sequence[Call]) -> None:
        content = b"".join(batch_files.line(call, self._model) for call in calls)
        try:
            file = self._connect().upload(submission, content)
        except NotDoneError:
            self._keeper.withdraw(submission)
            raise
        submission = self._journal.uploaded(submission, file)
        if submission.id not in self._journal.open():
            # A machine that slept is taken for dead; its calls are free for others.
            return
        try:
            remote = self._connect().create(submission)
        except NotDoneError as error:
            if not error.may_be_done:
                self._keeper.withdraw(submission)
            raise
        self._journal.submitted(submission, remote)
        logger.info("%s: batch %s: %d calls submitted", self._name, remote, len(calls))
