"""What a stage would ask of a model behind an endpoint, found by running it with nobody there.

The stage's own code makes its requests and reads what the store holds, so the calls are the very
ones that a run would make: same keys, same schemas, and further calls after stored replies that
cannot be used. What the stage makes of all this is thrown away.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ctxaudit.config.endpoint import EndpointModel
from ctxaudit.llm.client import LEDGER, Client
from ctxaudit.llm.ledger import Ledger
from ctxaudit.llm.requests import Call, ChatRequest, Completion
from ctxaudit.llm.sending import Sender
from ctxaudit.llm.store import ResponseStore
from ctxaudit.logs import logger


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsed:
    """The calls of a stage, equal ones once.

    Attributes:
        missing: Requests whose reply is not in the store.
        num_stored: Calls whose reply is.
    """

    missing: Sequence[ChatRequest]
    num_stored: int


def rehearse(
    name: str, model: EndpointModel, store: Path, stage: Callable[[Client], object]
) -> Rehearsed:
    """The calls that a stage would make.

    Args:
        name: The model's name in the configuration.
        model: Its entry.
        store: Folder of the stored replies.
        stage: Does the stage's work with the client that it is given.
    """
    nobody, replies = _Nobody(model), _WatchedStore(store)
    logger.info("%s: a rehearsal: what is to be asked shows as 'error' in what follows", name)
    stage(Client(name, nobody, replies, max_repairs=model.max_repairs))
    return Rehearsed(missing=list(nobody.asked.values()), num_stored=len(replies.found))


class _WatchedStore(ResponseStore):
    """Remembers the keys that it found a reply to."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.found: set[str] = set()

    def get(self, key: str) -> Completion | None:
        reply = super().get(key)
        if reply is not None:
            self.found.add(key)
        return reply


class _Nobody:
    """Notes what is to be asked; its own replies are such that nothing is asked because of them."""

    def __init__(self, model: EndpointModel) -> None:
        backend = Sender(model, Ledger(LEDGER), None)
        self.identity = backend.identity
        self.sampling = backend.sampling
        self.scores_choices = backend.scores_choices
        self.takes_schema = backend.takes_schema
        self.asked: dict[str, ChatRequest] = {}

    def check(self, reply: Completion) -> None:
        """A plan counts what is stored."""

    def complete(
        self, calls: Sequence[Call], store: ResponseStore, *, batch_size: int
    ) -> list[Completion]:
        self.asked |= {call.key: call.request for call in calls}
        return [Completion(text="", finish="error") for _ in calls]
