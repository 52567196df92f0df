"""The one way to a judge or generator: every reply is stored, equal requests are asked once."""

import hashlib
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ctxaudit.config.endpoint import EndpointModel
from ctxaudit.config.llm import LanguageModels
from ctxaudit.config.section import DType
from ctxaudit.errors import UserError
from ctxaudit.llm import rating, requests, structured
from ctxaudit.llm.calling import Calling, from_environment
from ctxaudit.llm.endpoint_backend import EndpointBackend
from ctxaudit.llm.ledger import Ledger
from ctxaudit.llm.prices import Price
from ctxaudit.llm.requests import Backend, Call, ChatRequest, Completion, Rating
from ctxaudit.llm.store import FOLDER, ResponseStore
from ctxaudit.llm.structured import Structured
from ctxaudit.logs import logger

LEDGER = Path("results/store/ledger.jsonl")


class Client:
    """A model with its store.

    Attributes:
        name: The model's name in the configuration.
    """

    def __init__(
        self,
        name: str,
        backend: Backend,
        store: ResponseStore,
        *,
        replay: bool = False,
        max_repairs: int = 1,
    ) -> None:
        self.name = name
        self._backend = backend
        self._store = store
        self._replay = replay
        self._max_repairs = max_repairs

    def calls(self, asked: Sequence[ChatRequest]) -> list[Call]:
        """The call that each request is, in their order."""
        sampling = self._backend.sampling
        settled = (
            replace(request, sampling=sampling) if request.sampling is None else request
            for request in asked
        )
        return [requests.call(request, self._backend.identity) for request in settled]

    def complete(self, asked: Sequence[ChatRequest], *, batch_size: int = 8) -> list[Completion]:
        """The reply to each request, in their order; what the store holds is not asked again.

        Raises:
            UserError: in replay, naming how many replies are missing; if another model gave a
                reply; or if a call fails for good.
            BudgetReachedError: if the next call could exceed the budget.
        """
        calls = self.calls(asked)
        distinct = {call.key: call for call in calls}
        stored = {key: self._store.get(key) for key in distinct}
        replies = {key: reply for key, reply in stored.items() if reply is not None}
        for reply in replies.values():
            self._backend.check(reply)
        missing = [call for key, call in distinct.items() if key not in replies]
        logger.info("%s: %d replies, %d to ask", self.name, len(distinct), len(missing))
        if missing:
            self._refuse_in_replay(len(missing), len(distinct))
            new = self._backend.complete(missing, self._store, batch_size=batch_size)
            replies |= {call.key: reply for call, reply in zip(missing, new, strict=True)}
        outcomes = Counter(reply.finish for reply in replies.values())
        logger.info("%s: replies by outcome: %s", self.name, dict(sorted(outcomes.items())))
        return [replies[call.key] for call in calls]

    def structured(self, asked: Sequence[ChatRequest], *, batch_size: int = 8) -> list[Structured]:
        """The value that each reply holds, by the request's schema, or why there is none."""
        return structured.complete(
            asked,
            lambda now: self.complete(now, batch_size=batch_size),
            max_repairs=self._max_repairs,
        )

    def rate(self, asked: Sequence[ChatRequest], *, low: int = 0, high: int = 10) -> list[Rating]:
        """A score in [low, high] per request.

        A backend that scores closed answers gives the expectation over the whole numbers from
        `low` to `high`, each scored with its end token. One that takes a schema is asked for an
        object with the score. From another the written score is read.
        """
        if self._backend.scores_choices:
            grades = tuple(map(str, range(low, high + 1)))
            replies = self.complete([replace(request, choices=grades) for request in asked])
            ratings = [rating.read_rating(reply, low, high) for reply in replies]
        elif self._backend.takes_schema:
            schema = rating.schema(low, high)
            found = self.structured([replace(request, schema=schema) for request in asked])
            ratings = [rating.of_value(item) for item in found]
        else:
            ratings = [rating.read_rating(reply, low, high) for reply in self.complete(asked)]
        reasons = Counter(item.reason for item in ratings if item.reason)
        logger.info("%s: %d ratings, %d undefined", self.name, len(ratings), reasons.total())
        for reason, count in reasons.most_common():
            logger.info("%s: undefined: %s: %d", self.name, reason, count)
        return ratings

    def _refuse_in_replay(self, num_missing: int, num_asked: int) -> None:
        if self._replay:
            raise UserError(
                f"llm.mode: replay: {num_missing} of {num_asked} replies of '{self.name}' are not "
                f"in {self._store.folder}; import the archive that belongs to this configuration, "
                "or set the mode to live"
            )


def open_client(
    name: str,
    entry: Mapping[str, Any],
    manifests: Sequence[str | Path],
    calling: Calling | None = None,
    *,
    store: Path = FOLDER,
    ledger: Path = LEDGER,
) -> Client:
    """A client for an entry of `models:`.

    Args:
        name: The model's name in the configuration.
        entry: Its entry as a plain mapping.
        manifests: The manifest of its folder; empty for an endpoint.
        calling: How its calls are made; None takes it from the environment. What it says of the
            model's traffic goes before what the entry says.
        store: Folder of the stored replies.
        ledger: Journal of the paid calls.
    """
    calling = calling or from_environment(os.environ)
    if entry["kind"] == "endpoint":
        traffic = {"traffic": calling.traffic[name]} if name in calling.traffic else {}
        model = EndpointModel.model_validate({**entry, **traffic})
        account = Ledger(ledger, budget=calling.llm.budget_usd)
        backend: Backend = EndpointBackend(model, account, _price(name, calling.llm))
        repairs = model.max_repairs
    else:
        backend, repairs = _in_process(entry, Path(manifests[0])), 1
    return Client(
        name,
        backend,
        ResponseStore(store),
        replay=calling.llm.mode == "replay",
        max_repairs=repairs,
    )


def _in_process(entry: Mapping[str, Any], manifest: Path) -> Backend:
    # Only here: a client of an endpoint starts without loading torch.
    from ctxaudit import models
    from ctxaudit.llm.in_process import InProcess

    dtype: DType = entry.get("dtype", "float32")
    parts = f"{models.manifest_digest(manifest)}\n{dtype}"
    return InProcess(
        hashlib.sha256(parts.encode()).hexdigest(), lambda: models.load(manifest, dtype=dtype)
    )


def _price(name: str, rules: LanguageModels) -> Price | None:
    """The price of a model.

    Raises:
        UserError: if there is none although a budget is set.
    """
    known = rules.prices.models if rules.prices else {}
    if name in known:
        price = known[name]
        return Price(input=price.input, output=price.output, batch_discount=price.batch_discount)
    if rules.budget_usd is not None and rules.mode == "live":
        raise UserError(
            f"llm.budget_usd is set, but llm.prices.models has no price for '{name}', so the "
            "budget could not be kept; enter its price (0 for a server of yours) or remove the "
            "budget"
        )
    return None
