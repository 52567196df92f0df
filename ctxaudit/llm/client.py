"""The one way to a judge or generator: every reply is stored, equal requests are asked once."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ctxaudit import config, logs, models
from ctxaudit.llm.endpoint import Endpoint
from ctxaudit.llm.in_process import InProcess
from ctxaudit.llm.rating import read_rating
from ctxaudit.llm.requests import Backend, ChatRequest, Completion, Rating
from ctxaudit.llm.store import ResponseStore
from ctxaudit.logs import logger

STORE = Path("results/store/responses")


class Client:
    """A model with its store.

    Attributes:
        name: The model's name in the configuration.
    """

    def __init__(self, name: str, backend: Backend, store: ResponseStore) -> None:
        self.name = name
        self._backend = backend
        self._store = store

    def complete(self, requests: Sequence[ChatRequest], *, batch_size: int = 8) -> list[Completion]:
        """The reply to each request, in their order; what the store holds is not asked again."""
        keys = [request.key(self._backend.digest) for request in requests]
        distinct = dict(zip(keys, requests, strict=True))
        stored = {key: self._store.get(request) for key, request in distinct.items()}
        replies = {key: reply for key, reply in stored.items() if reply is not None}
        missing = [key for key in distinct if key not in replies]
        logger.info("%s: %d replies, %d to ask", self.name, len(distinct), len(missing))
        if missing:
            asked = [distinct[key] for key in missing]
            answers = self._backend.complete(asked, batch_size=batch_size)
            for at, reply in logs.progress(answers, total=len(asked), label=f"asking {self.name}"):
                replies[missing[at]] = reply
                if reply.finish != "error":
                    self._store.put(asked[at], reply)
        return [replies[key] for key in keys]

    def rate(
        self, requests: Sequence[ChatRequest], *, low: int = 0, high: int = 10
    ) -> list[Rating]:
        """A score in [low, high] per request.

        A backend that scores closed answers gives the expectation over the whole numbers from
        `low` to `high`, each scored with its end token; from another the written score is read.
        """
        grades = tuple(map(str, range(low, high + 1)))
        closed = [replace(request, choices=grades) for request in requests]
        ratings = [read_rating(reply, low, high) for reply in self.complete(closed)]
        num_undefined = sum(bool(rating.reason) for rating in ratings)
        logger.info("%s: %d ratings, %d undefined", self.name, len(ratings), num_undefined)
        return ratings


def open_client(
    name: str,
    entry: Mapping[str, Any],
    manifests: Sequence[str | Path],
    *,
    store: Path = STORE,
) -> Client:
    """A client for an entry of `models:`.

    Args:
        name: The model's name in the configuration.
        entry: Its entry as a plain mapping.
        manifests: The manifest of its folder; empty for an endpoint.
        store: Folder of the stored replies.
    """
    model = config.model(entry)
    backend: Backend
    if isinstance(model, config.EndpointModel):
        backend = Endpoint(model)
    else:
        manifest, dtype = Path(manifests[0]), model.dtype
        parts = f"{models.manifest_digest(manifest)}\n{dtype}"
        backend = InProcess(
            hashlib.sha256(parts.encode()).hexdigest(), lambda: models.load(manifest, dtype=dtype)
        )
    return Client(name, backend, ResponseStore(store, backend.digest))
