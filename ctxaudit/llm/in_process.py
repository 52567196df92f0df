"""A language model of this process as judge and generator."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ctxaudit import logs, prompts
from ctxaudit.ablation import scorer
from ctxaudit.ablation.scorer import ScoreRequest
from ctxaudit.errors import UserError
from ctxaudit.generation import generate
from ctxaudit.llm.requests import GREEDY, Call, ChatRequest, Completion, Identity
from ctxaudit.llm.store import ResponseStore
from ctxaudit.models import LanguageModel

_SCORED_TOGETHER = 32
"""Requests between two writes to the store, which bounds what a killed job loses."""


class InProcess:
    """Greedy replies, or the log-probability of each answer of a closed set.

    Args:
        digest: The model's digest, known before it is loaded.
        load: Loads the model; called at the first request that the store does not hold.
        batch_tokens: Upper limit of tokens in one scoring pass.
    """

    sampling: Mapping[str, Any] = GREEDY
    scores_choices = True
    takes_schema = False

    def __init__(
        self, digest: str, load: Callable[[], LanguageModel], *, batch_tokens: int = 4096
    ) -> None:
        self.identity = Identity("in-process", digest)
        self._load = load
        self._batch_tokens = batch_tokens

    def check(self, reply: Completion) -> None:
        """Nothing to see: a key holds the digest of the weights."""

    def complete(
        self, calls: Sequence[Call], store: ResponseStore, *, batch_size: int
    ) -> list[Completion]:
        """The reply to each call, in their order; closed answers first.

        Raises:
            UserError: for a sampling parameter, or a prompt that exceeds the window.
        """
        for call in calls:
            if call.request.sampling not in (None, GREEDY):
                raise UserError(
                    f"{call.request.model}: sampling {dict(call.request.sampling or {})}: a model "
                    "in this process decodes greedily; allowed: temperature 0 alone"
                )
        replies: dict[int, Completion] = {}
        answers = self._answers([call.request for call in calls], batch_size)
        label = f"asking {calls[0].request.model}" if calls else ""
        for at, reply in logs.progress(answers, total=len(calls), label=label):
            replies[at] = store.put(calls[at], reply)
        return [replies[at] for at in range(len(calls))]

    def _answers(
        self, requests: Sequence[ChatRequest], batch_size: int
    ) -> Iterator[tuple[int, Completion]]:
        model = self._load()
        ids = [_ids(model, request) for request in requests]
        closed = [at for at, request in enumerate(requests) if request.choices]
        for start in range(0, len(closed), _SCORED_TOGETHER):
            yield from self._choose(model, requests, ids, closed[start : start + _SCORED_TOGETHER])
        free = [at for at, request in enumerate(requests) if not request.choices]
        yield from _write(model, requests, ids, free, batch_size)

    def _choose(
        self,
        model: LanguageModel,
        requests: Sequence[ChatRequest],
        ids: Sequence[tuple[int, ...]],
        positions: Sequence[int],
    ) -> Iterator[tuple[int, Completion]]:
        asked = [
            ScoreRequest(ids[at], _complete_answer(model, choice), requests[at].model)
            for at in positions
            for choice in requests[at].choices
        ]
        scored = iter(scorer.score(model, asked, batch_tokens=self._batch_tokens))
        for at in positions:
            logprobs = [next(scored) for _ in requests[at].choices]
            sums = tuple(float(values.sum()) for values in logprobs)
            yield (
                at,
                Completion(
                    text=requests[at].choices[sums.index(max(sums))],
                    finish="stop",
                    prompt_tokens=len(ids[at]),
                    new_tokens=sum(map(len, logprobs)),
                    choice_logprobs=sums,
                ),
            )


def _ids(model: LanguageModel, request: ChatRequest) -> tuple[int, ...]:
    if request.chat:
        return tuple(prompts.chat_ids(model.tokenizer, request.messages))
    return tuple(model.tokenizer(request.messages[0]["content"]).input_ids)


def _complete_answer(model: LanguageModel, choice: str) -> tuple[int, ...]:
    # The end token keeps "1" from being taken for the beginning of "10".
    tokenizer = model.tokenizer
    return (*tokenizer(choice, add_special_tokens=False).input_ids, tokenizer.eos_token_id)


def _write(
    model: LanguageModel,
    requests: Sequence[ChatRequest],
    ids: Sequence[tuple[int, ...]],
    positions: Sequence[int],
    batch_size: int,
) -> Iterator[tuple[int, Completion]]:
    written = generate(
        model,
        [ids[at] for at in positions],
        max_new_tokens=[requests[at].max_new_tokens for at in positions],
        batch_size=batch_size,
    )
    for at, reply in zip(positions, written, strict=True):
        yield (
            at,
            Completion(
                text=reply.text,
                finish=reply.finish,
                prompt_tokens=len(ids[at]),
                new_tokens=len(reply.ids),
            ),
        )
