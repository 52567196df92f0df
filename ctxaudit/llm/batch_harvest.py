"""What came back of a batch: stored, settled, and closed when nothing more is to come."""

from collections.abc import Iterator, Mapping

from ctxaudit.config.endpoint import EndpointModel
from ctxaudit.llm import batch_files, faults
from ctxaudit.llm.batch_endpoint import BatchConnection, State
from ctxaudit.llm.batch_journal import BatchJournal, Submission
from ctxaudit.llm.faults import CallError, Kind
from ctxaudit.llm.ledger import Ledger
from ctxaudit.llm.requests import Answer, Call, Completion
from ctxaudit.llm.reservations import Outcome, Reservation
from ctxaudit.llm.store import ResponseStore
from ctxaudit.logs import logger

_QUEUE_FULL = "token_limit_exceeded"


class Harvester:
    """Brings home what the endpoint has of batches.

    All of it is brought home, also what another job had asked for: it is paid.
    """

    def __init__(
        self, model: EndpointModel, ledger: Ledger, store: ResponseStore, journal: BatchJournal
    ) -> None:
        self._model = model
        self._ledger = ledger
        self._store = store
        self._journal = journal

    def harvest(
        self, submission: Submission, state: State, connection: BatchConnection
    ) -> dict[str, CallError]:
        """Store the replies that are there, settle what is known, close a batch that has ended.

        Returns:
            The faults of calls that have no reply and are no more under way, by their key.
        """
        if not state.ended and not state.files:
            return {}
        calls = self._journal.calls(submission) or {}
        look = _Look(self._model, self._store, calls, self._ledger.of_batch(submission.id))
        look.read(_lines(state, calls, self._model, connection))
        if state.ended:
            look.end(state)
        self._ledger.settle_all(look.settled())
        if state.ended:
            self._journal.close(submission, state.status)
        return look.faults


class _Look:
    """One look at a batch.

    Attributes:
        faults: Of the calls that failed, by key.
    """

    def __init__(
        self,
        model: EndpointModel,
        store: ResponseStore,
        calls: Mapping[str, Call],
        held: dict[str, Reservation],
    ) -> None:
        self.faults: dict[str, CallError] = {}
        self._model = model
        self._store = store
        self._calls = calls
        self._held = held
        self._ends: list[tuple[Reservation, Completion | Outcome]] = []

    def read(self, lines: Iterator[tuple[str, Answer | CallError]]) -> None:
        """Keep what the lines hold; a reply goes before a fault, and the first before others."""
        seen: set[str] = set()
        num_strange = num_repeated = 0
        for key, end in lines:
            num_strange += key not in self._calls
            num_repeated += key in seen
            seen.add(key)
            if key in self._calls and self._is_new(key, end):
                self._keep(key, end)
        if num_strange or num_repeated:
            logger.warning(
                "%s: left out of a batch's output: %d lines of unknown calls, %d repeated lines",
                self._model.model,
                num_strange,
                num_repeated,
            )

    def end(self, state: State) -> None:
        """Take all that has no line for failed."""
        for key, fault in _faults_of_rest(state, list(self._calls)).items():
            if key in self._held:
                self.faults.setdefault(key, fault)

    def settled(self) -> list[tuple[Reservation, Completion | Outcome]]:
        """How the calls that are known to have ended did."""
        failed = [(self._held[key], fault) for key, fault in self.faults.items()]
        return [
            *self._ends,
            *((item, "unknown" if fault.billed else "rejected") for item, fault in failed),
        ]

    def _is_new(self, key: str, end: Answer | CallError) -> bool:
        """Whether a line says more than earlier lines and looks did."""
        # What has no reservation is settled; unless the account was lost.
        is_lost = isinstance(end, Answer) and self._store.get(key) is None
        return key in self._held or is_lost

    def _keep(self, key: str, end: Answer | CallError) -> None:
        if isinstance(end, Answer):
            self._put(key, end, end.completion)
        elif end.kind == "policy":
            self._put(key, faults.refusal(end), "rejected")
        else:
            self.faults.setdefault(key, end)

    def _put(self, key: str, answer: Answer, end: Completion | Outcome) -> None:
        item = self._held.pop(key, None)
        self.faults.pop(key, None)
        self._store.put(
            self._calls[key], answer.completion, raw=answer.raw, reservation=item.id if item else ""
        )
        if item:
            self._ends.append((item, end))


def _lines(
    state: State, calls: Mapping[str, Call], model: EndpointModel, connection: BatchConnection
) -> Iterator[tuple[str, Answer | CallError]]:
    sent = batch_files.parameters(next(iter(calls.values())), model) if calls else []
    for file in state.files:
        yield from batch_files.read(connection.download(file), sent, connection.key)


def _faults_of_rest(state: State, keys: list[str]) -> dict[str, CallError]:
    """The faults of the calls that an ended batch has no line of."""
    if state.status != "failed":
        # Somebody cancelled it, and is asked. What is lost may be billed.
        kind: Kind = "invalid" if state.status == "cancelled" else "server"
        words = f"no reply in a batch that is {state.status}"
        lost = state.status == "completed"
        return dict.fromkeys(keys, CallError(kind, words, billed=lost))
    if any(refusal.code == _QUEUE_FULL for refusal in state.refusals):
        return dict.fromkeys(keys, CallError("rate", "the endpoint's queue of batches is full"))
    at_lines = {refusal.line: refusal for refusal in state.refusals if refusal.line}
    if not at_lines:
        words = ", ".join(refusal.words for refusal in state.refusals[:3]) or "it does not say why"
        return dict.fromkeys(keys, CallError("invalid", f"the batch is refused: {words}"))
    return {
        key: CallError("invalid", f"the batch is refused for this call: {at_lines[line].words}")
        if line in at_lines
        else CallError("server", "the batch is refused for another call")
        for line, key in enumerate(keys, start=1)
    }
