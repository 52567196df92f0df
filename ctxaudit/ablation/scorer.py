"""log p(response | prompt), each distinct pair once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ctxaudit.ablation.plain import LogProbs, Scored, TokenPair, score_plain
from ctxaudit.ablation.shared import score_shared, supports
from ctxaudit.ablation.store import ScoreStore
from ctxaudit.errors import UserError
from ctxaudit.logs import logger, progress
from ctxaudit.models import LanguageModel


@dataclass(frozen=True, slots=True)
class ScoreRequest:
    """A response to score under a prompt.

    Attributes:
        prompt: Token ids up to where the response begins.
        response: T token ids.
        label: Names the example in messages.
    """

    prompt: tuple[int, ...]
    response: tuple[int, ...]
    label: str


def score(
    model: LanguageModel,
    requests: Sequence[ScoreRequest],
    *,
    batch_tokens: int,
    store: ScoreStore | None = None,
) -> list[LogProbs]:
    """Log-probability of each response token, (T,) nats per request, in their order.

    Equal requests are computed once, what the store holds not at all; what is computed goes to
    the store as it comes. The log-softmax is float32 whatever the model's dtype.

    Raises:
        UserError: before anything is computed, if a prompt or response has no token or the two
            exceed the model's window.
    """
    check(requests, max_tokens=model.max_tokens)
    pairs = [(request.prompt, request.response) for request in requests]
    distinct = list(dict.fromkeys(pairs))
    scores = _stored(distinct, store)
    todo = [pair for pair in distinct if pair not in scores]
    scored = _compute(model, todo, batch_tokens)
    for index, logprobs in progress(scored, total=len(todo), label="scoring"):
        scores[todo[index]] = logprobs
        if store is not None:
            store.put(store.key(*todo[index]), logprobs)
    if store is not None:
        store.flush()
    return [scores[pair] for pair in pairs]


def check(requests: Sequence[ScoreRequest], *, max_tokens: int) -> None:
    """Refuse requests that cannot be scored; UserError names each of them."""
    faults = [fault for request in requests if (fault := _fault(request, max_tokens))]
    if faults:
        raise UserError("\n".join(dict.fromkeys(faults)))


def _fault(request: ScoreRequest, max_tokens: int) -> str:
    if not request.response:
        return f"{request.label}: the response has no token; nothing can be scored"
    if not request.prompt:
        return f"{request.label}: the prompt has no token, so the response has nothing before it"
    total = len(request.prompt) + len(request.response)
    if total > max_tokens:
        return (
            f"{request.label}: prompt and response have {total} tokens ({len(request.prompt)} + "
            f"{len(request.response)}), the model's window holds {max_tokens}; use fewer or "
            "shorter sources, or a model with a longer window"
        )
    return ""


def _stored(pairs: Sequence[TokenPair], store: ScoreStore | None) -> dict[TokenPair, LogProbs]:
    if store is None:
        return {}
    found = store.get([store.key(*pair) for pair in pairs])
    return {pair: values for pair, values in zip(pairs, found, strict=True) if values is not None}


def _compute(
    model: LanguageModel, pairs: Sequence[TokenPair], batch_tokens: int
) -> Iterator[Scored]:
    if not pairs:
        return iter(())
    if supports(model):
        return score_shared(model, pairs, batch_tokens=batch_tokens)
    logger.warning("no prefix sharing for %s: plain batches", model.network.config.model_type)
    return score_plain(model, pairs, batch_tokens=batch_tokens)
