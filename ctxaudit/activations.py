"""Hidden states at the last prompt token, for all layers in one pass.

Layer 0 is the embedding, layer l the output of block l; the last block's output is taken before
the final norm, unlike in the `hidden_states` of transformers.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from transformers import DynamicCache

from ctxaudit import logs
from ctxaudit.generation import check_fit
from ctxaudit.layers import blocks, hidden_of
from ctxaudit.memory import run_in_batches
from ctxaudit.models import LanguageModel

States = npt.NDArray[np.float32]


def last_token_states(
    model: LanguageModel, prompts: Sequence[Sequence[int]], *, batch_size: int
) -> States:
    """Residual stream at the last token of each prompt, (N, L+1, D) float32, in input order.

    Raises:
        UserError: before any pass, if a prompt is empty or longer than the window, or if the
            model's family is unknown.
    """
    num_layers = len(blocks(model.network))
    check_fit(model, prompts, [0] * len(prompts))
    size = model.network.get_input_embeddings().embedding_dim
    states = np.empty((len(prompts), num_layers + 1, size), dtype=np.float32)
    order = sorted(range(len(prompts)), key=lambda index: len(prompts[index]), reverse=True)
    batches = run_in_batches(
        order,
        [len(prompt) for prompt in prompts],
        lambda batch: _read(model, [prompts[index] for index in batch]),
        limit=model.pass_limit,
        max_rows=batch_size,
    )
    read = (pair for batch, rows in batches for pair in zip(batch, rows, strict=True))
    for index, row in logs.progress(read, total=len(prompts), label="hidden states"):
        states[index] = row
    return states


def grouped_last_token_states(
    model: LanguageModel, groups: Sequence[Sequence[Sequence[int]]], *, batch_size: int
) -> list[States]:
    """The same for groups of prompts, such as one per evidence: N arrays (K_n, L+1, D)."""
    flat = [prompt for group in groups for prompt in group]
    ends = np.cumsum([len(group) for group in groups])
    states = last_token_states(model, flat, batch_size=batch_size)
    return np.split(states, ends[:-1]) if len(groups) else []


@contextlib.contextmanager
def _capturing(network: Any, positions: torch.Tensor) -> Iterator[list[torch.Tensor]]:
    """Collect (B, D) at one position per row from the embedding and each block of one forward."""
    caught: list[torch.Tensor] = []
    rows = torch.arange(len(positions), device=positions.device)

    def keep(hidden: torch.Tensor) -> None:
        caught.append(hidden[rows, positions].float().cpu())

    def keep_input(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        keep(args[0] if args else kwargs["hidden_states"])

    def keep_output(_: Any, __: Any, output: Any) -> None:
        keep(hidden_of(output))

    stack = blocks(network)
    with contextlib.ExitStack() as hooks:
        first = stack[0].register_forward_pre_hook(keep_input, with_kwargs=True)
        hooks.callback(first.remove)
        for block in stack:
            hooks.callback(block.register_forward_hook(keep_output).remove)
        yield caught
    if len(caught) != len(stack) + 1:
        raise RuntimeError(f"hooks fired {len(caught)} times, expected {len(stack) + 1}")


def _read(model: LanguageModel, prompts: Sequence[Sequence[int]]) -> States:
    # At least one token is left to each prompt, whose state is wanted.
    shared = min(_common_prefix(prompts), min(map(len, prompts)) - 1)
    lengths = torch.tensor([len(prompt) - shared for prompt in prompts], device=model.device)
    # Padded on the right, where no earlier token can see it: positions and causal mask are then
    # right as they stand.
    ids = torch.zeros((len(prompts), int(lengths.max())), dtype=torch.long, device=model.device)
    for row, prompt in enumerate(prompts):
        ids[row, : len(prompt) - shared] = torch.tensor(prompt[shared:], device=model.device)
    with torch.inference_mode():
        cache = _cache(model, prompts[0][:shared], len(prompts))
        with _capturing(model.network, lengths - 1) as caught:
            # The base model alone: logits of whole prompts would cost more than all the rest.
            model.network.base_model(input_ids=ids, cache=cache, use_cache=cache is not None)
    return torch.stack(caught, dim=1).numpy()


def _common_prefix(prompts: Sequence[Sequence[int]]) -> int:
    # Between the smallest and the largest in order lie all others.
    first, *_, last = sorted(map(list, [*prompts, prompts[0]]))
    differing = (n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b)
    return next(differing, min(len(first), len(last)))


def _cache(model: LanguageModel, prefix: Sequence[int], num_rows: int) -> Any:
    """Keys and values of a prefix that all rows of a batch share, computed once."""
    if not prefix:
        return None
    cache = DynamicCache(config=model.network.config)
    ids = torch.tensor([prefix], device=model.device)
    model.network.base_model(input_ids=ids, cache=cache, use_cache=True)
    cache.batch_repeat_interleave(num_rows)
    return cache
