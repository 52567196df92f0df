"""Greedy generation in batches; the same text whatever the batch size (up to rounding)."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from transformers import GenerationConfig, StoppingCriteria, StoppingCriteriaList

from ctxaudit import logs
from ctxaudit.errors import UserError
from ctxaudit.memory import run_in_batches
from ctxaudit.models import LanguageModel


@dataclass(frozen=True, slots=True)
class Generated:
    """What a model wrote after one prompt.

    Attributes:
        text: The new text, special tokens removed; may be empty.
        ids: The new token ids, without the end token.
        finish: `stop` if an end token came, `length` if the limit cut it.
    """

    text: str
    ids: tuple[int, ...]
    finish: Literal["stop", "length"]


def generate(
    model: LanguageModel,
    prompts: Sequence[Sequence[int]],
    *,
    max_new_tokens: int | Sequence[int],
    batch_size: int,
) -> list[Generated]:
    """Continue each prompt greedily, in input order.

    Args:
        model: The model; none of its own sampling defaults applies.
        prompts: Token ids, at least one per prompt.
        max_new_tokens: One limit, or one per prompt; each at least 1.
        batch_size: Most prompts of one batch, fewer where memory ends; prompts of like length
            go together.

    Raises:
        UserError: before anything is generated, if a prompt is empty or does not fit the window.
    """
    limits = _limits(max_new_tokens, len(prompts))
    check_fit(model, prompts, limits)
    # Longest first: a batch too large for the memory fails at once, not at the end.
    order = sorted(range(len(prompts)), key=lambda i: (len(prompts[i]), limits[i]), reverse=True)
    batches = run_in_batches(
        order,
        [len(prompt) + limit for prompt, limit in zip(prompts, limits, strict=True)],
        lambda batch: _continue(model, [prompts[i] for i in batch], [limits[i] for i in batch]),
        limit=model.pass_limit,
        max_rows=batch_size,
    )
    written = (pair for batch, rows in batches for pair in zip(batch, rows, strict=True))
    found = dict(logs.progress(written, total=len(prompts), label="generating"))
    return [found[index] for index in range(len(prompts))]


def end_tokens(model: LanguageModel) -> list[int]:
    """Ids that end a response: those of the generation config and the tokenizer's own.

    Raises:
        UserError: if the model names none.
    """
    listed = model.network.generation_config.eos_token_id
    ids = [] if listed is None else [listed] if isinstance(listed, int) else list(listed)
    if model.tokenizer.eos_token_id is not None:
        ids.append(model.tokenizer.eos_token_id)
    if not ids:
        raise UserError(
            "the model names no end token; set eos_token_id in its generation_config.json"
        )
    return sorted(set(ids))


def check_fit(
    model: LanguageModel,
    prompts: Sequence[Sequence[int]],
    limits: Sequence[int],
    *,
    names: Sequence[str] = (),
) -> None:
    """UserError naming the first prompt that is empty or, with its limit, exceeds the window."""
    for index, (prompt, limit) in enumerate(zip(prompts, limits, strict=True)):
        name = names[index] if names else f"prompt {index}"
        if not prompt:
            raise UserError(f"{name}: no tokens; a prompt needs at least one")
        if len(prompt) + limit > model.max_tokens:
            raise UserError(
                f"{name}: {len(prompt)} tokens and {limit} new ones exceed the model's "
                f"window of {model.max_tokens}; shorten the sources or lower max_new_tokens"
            )


def _limits(max_new_tokens: int | Sequence[int], num_prompts: int) -> list[int]:
    if isinstance(max_new_tokens, int):
        limits = [max_new_tokens] * num_prompts
    else:
        limits = list(max_new_tokens)
    if len(limits) != num_prompts or min(limits, default=1) < 1:
        raise ValueError("max_new_tokens: one limit of at least 1 per prompt is needed")
    return limits


def _continue(
    model: LanguageModel, prompts: Sequence[Sequence[int]], limits: Sequence[int]
) -> list[Generated]:
    ends = end_tokens(model)
    width = max(map(len, prompts))
    ids = torch.full((len(prompts), width), ends[0], device=model.device)
    attention = torch.zeros_like(ids)
    for row, prompt in enumerate(prompts):
        ids[row, width - len(prompt) :] = torch.tensor(prompt, device=model.device)
        attention[row, width - len(prompt) :] = 1
    settings = GenerationConfig(
        do_sample=False,
        num_beams=1,
        max_new_tokens=max(limits),
        eos_token_id=ends,
        pad_token_id=ends[0],
        use_cache=True,
    )
    stops = StoppingCriteriaList([_RowLimits(width, limits)])
    with torch.inference_mode(), _neutral_defaults(model.network):
        output = model.network.generate(
            ids, attention_mask=attention, generation_config=settings, stopping_criteria=stops
        )
    new = output[:, width:].tolist()
    return [
        _cut(model.tokenizer, row[:limit], ends) for row, limit in zip(new, limits, strict=True)
    ]


def _cut(tokenizer: Any, ids: list[int], ends: list[int]) -> Generated:
    end = next((position for position, token in enumerate(ids) if token in ends), None)
    kept = ids[:end]
    text = tokenizer.decode(kept, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    return Generated(text, tuple(kept), "length" if end is None else "stop")


class _RowLimits(StoppingCriteria):  # type: ignore[misc]
    """Ends each row of a batch at its own number of new tokens."""

    def __init__(self, width: int, limits: Sequence[int]) -> None:
        self._lengths = torch.tensor([width + limit for limit in limits])

    def __call__(self, input_ids: torch.Tensor, scores: Any, **kwargs: Any) -> torch.Tensor:
        return input_ids.shape[1] >= self._lengths.to(input_ids.device)


@contextlib.contextmanager
def _neutral_defaults(network: Any) -> Iterator[None]:
    # `generate` fills whatever our settings leave open from the network's own, such as a
    # repetition penalty.
    own = network.generation_config
    network.generation_config = GenerationConfig()
    try:
        yield
    finally:
        network.generation_config = own
