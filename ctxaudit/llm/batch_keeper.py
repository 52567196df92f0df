"""Looks after the batches of one model: finds, polls and collects them, its own and orphans."""

import time
from collections.abc import Callable, Collection, Mapping

from ctxaudit.errors import UserError
from ctxaudit.llm.batch_endpoint import BatchConnection, NotDoneError, State
from ctxaudit.llm.batch_harvest import Harvester
from ctxaudit.llm.batch_journal import BatchJournal, Submission
from ctxaudit.llm.claims import Claims
from ctxaudit.llm.faults import CallError
from ctxaudit.llm.ledger import Ledger
from ctxaudit.llm.reservations import Outcome, Reservation
from ctxaudit.logs import logger

_SECONDS_UNTIL_LISTED = 60.0
"""So long a batch that was created may be missing in the endpoint's list."""


class Keeper:
    """Who looks after a batch holds the claim to it.

    Args:
        model: Provider and model.
        connect: Gives the open client.
    """

    def __init__(
        self,
        model: str,
        ledger: Ledger,
        journal: BatchJournal,
        claims: Claims,
        harvester: Harvester,
        connect: Callable[[], BatchConnection],
    ) -> None:
        self._model = model
        self._ledger = ledger
        self._journal = journal
        self._claims = claims
        self._harvester = harvester
        self._connect = connect
        self._mine: set[str] = set()
        self._states: dict[str, State] = {}

    def take(self, name: str) -> bool:
        """Take the claim to a batch, also from a job that is dead; False if another has it."""
        if name not in self._mine and self._claims.take(name):
            self._mine.add(name)
        return name in self._mine

    def leave(self, name: str) -> None:
        """Leave a batch to others."""
        self._mine.remove(name)
        self._claims.give_up(name)

    def leave_all(self) -> None:
        """Leave all to others."""
        for name in list(self._mine):
            self.leave(name)

    def open(self) -> Mapping[str, Submission]:
        """The batches of this model that are not closed."""
        batches = self._journal.open()
        return {name: item for name, item in batches.items() if item.model == self._model}

    def attend(self, names: Collection[str]) -> dict[str, CallError]:
        """Collect what has come of open batches, but for those that another job looks after.

        Returns:
            The faults of calls that have no reply and are no more under way, by their key.

        Raises:
            UserError: if the endpoint does not say how a batch stands.
        """
        failed: dict[str, CallError] = {}
        for name in self.open().keys() & names:
            if not self.take(name):
                continue
            # Another job may have closed it before the claim was free.
            submission = self.open().get(name)
            if submission is not None:
                failed |= self._look_after(submission)
            if name not in self.open():
                self.leave(name)
        return failed

    def withdraw(self, submission: Submission, outcome: Outcome = "rejected") -> None:
        """Close a batch of which nothing is to come."""
        held = self._ledger.of_batch(submission.id).values()
        self._ledger.settle_all((item, outcome) for item in held)
        self._journal.close(submission, "withdrawn")

    def release(self, held: list[Reservation]) -> None:
        """Settle the reservations of jobs that died before their calls could become known."""
        batches = self._journal.open()
        for item in held:
            if not item.batch and self._claims.take(item.key):
                self._ledger.settle_all([(item, "interrupted")])
                self._claims.give_up(item.key)
        for name in {item.batch for item in held if item.batch} - batches.keys() - self._mine:
            if self.take(name):
                # With the claim nobody plans it any more; entered first, it would be uploaded.
                if name not in self._journal.open():
                    items = self._ledger.of_batch(name).values()
                    self._ledger.settle_all((item, "rejected") for item in items)
                self.leave(name)

    def _look_after(self, submission: Submission) -> dict[str, CallError]:
        calls = self._journal.path(submission.id)
        if not calls.exists():
            logger.warning("%s: is deleted, so the batch is given up", calls)
            self.withdraw(submission, "unknown")
            return {}
        try:
            found = submission if submission.remote else self._find(submission)
            return self._collect(found) if found else {}
        except NotDoneError as error:
            if error.may_be_done:
                raise
            raise UserError(
                f"{error}. If the endpoint has lost it for good, delete {calls}: its calls then "
                "count as paid, and are asked again"
            ) from None

    def _find(self, submission: Submission) -> Submission | None:
        """A batch whose job was killed before it could enter that it was submitted."""
        # It is created after its upload is entered.
        found = self._connect().find(submission) if submission.file else None
        if found is not None:
            logger.info("%s: batch %s of a killed job is found again", self._model, found)
            return self._journal.submitted(submission, found)
        # A clock that was set back must not keep it for ever.
        if not submission.file or abs(time.time() - submission.time) > _SECONDS_UNTIL_LISTED:
            self.withdraw(submission)
        return None

    def _collect(self, submission: Submission) -> dict[str, CallError]:
        connection = self._connect()
        state = connection.look(submission)
        if state == self._states.get(submission.id):
            return {}
        status, done = state.status, state.num_done
        logger.info("%s: batch %s: %s, %d done", self._model, submission.remote, status, done)
        faults = self._harvester.harvest(submission, state, connection)
        self._states[submission.id] = state
        return faults
