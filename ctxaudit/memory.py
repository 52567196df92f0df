"""How many tokens one forward pass may hold: estimated from the model, lowered when memory ends."""

import itertools
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import psutil
import torch

from ctxaudit.errors import UserError
from ctxaudit.logs import logger

Result = TypeVar("Result")

OUT_OF_MEMORY = (RuntimeError, MemoryError)
"""What torch raises when memory ends; `PassLimit.lower` raises again what is another fault."""

_SHARE = 0.6
"""Of the free memory, what a pass may take: the estimate leaves out allocator and kernels."""


_WORDS_FOR_IT = ("can't allocate memory", "out of memory", "ALLOC_FAILED", "bad_alloc")
"""On a CPU torch has no class of its own for it, and CUDA's libraries have theirs."""

_LEAST_ESTIMATE = 256
"""An estimate below this is not believed; only an attempt that failed goes lower."""


class PassLimit:
    """Most tokens of one forward pass of a model, padding included.

    A pass of C new tokens, each of which may look at T others, takes about
    C (a + b (C + T)) bytes: a for its activations, keys, values and logits, b for the masks.

    Args:
        token_bytes: a.
        pair_bytes: b.
        free_bytes: Memory that is free for it.
    """

    def __init__(self, *, token_bytes: float, pair_bytes: float, free_bytes: float) -> None:
        self._token_bytes = token_bytes
        self._pair_bytes = pair_bytes
        self._free_bytes = free_bytes
        self._lowered: int | None = None

    def tokens(self, *, longest: int, at_most: int) -> int:
        """Tokens that fit, at least 1, for sequences of up to `longest` tokens."""
        linear = self._token_bytes + self._pair_bytes * longest
        root = math.sqrt(linear**2 + 4 * self._pair_bytes * self._free_bytes)
        # The positive root of b C^2 + linear C = free, in a form that holds for b = 0.
        fitting = max(_LEAST_ESTIMATE, int(2 * self._free_bytes / (linear + root)))
        known = [at_most, fitting] if self._lowered is None else [at_most, fitting, self._lowered]
        return max(1, min(known))

    def lower(self, error: BaseException, *, num_tokens: int, divisible: bool) -> None:
        """Remember that a pass of `num_tokens` ran out of memory: from now on half of it.

        Raises:
            UserError: if the pass cannot be made smaller.
            BaseException: `error` itself, if it is not about memory.
        """
        if not _is_about_memory(error):
            raise error
        if not divisible:
            raise UserError(
                f"one forward pass of {num_tokens} tokens does not fit the memory; use a smaller "
                "model, a smaller dtype, shorter sources or a machine with more memory"
            ) from None
        self._lowered = max(1, num_tokens // 2)
        logger.warning(
            "out of memory at %d tokens in one pass; going on with %d", num_tokens, self._lowered
        )
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def pass_limit(network: Any) -> PassLimit:
    """The limit of a model whose weights are loaded, from its configuration and the free memory."""
    config = network.config.get_text_config()
    heads = getattr(config, "num_attention_heads", 1)
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // heads
    cached = 2 * (getattr(config, "num_key_value_heads", None) or heads) * head_dim
    inner = getattr(config, "intermediate_size", None) or 4 * config.hidden_size
    # Under inference mode one layer's activations are alive at a time, every layer's keys are.
    elements = 8 * config.hidden_size + 3 * inner + config.num_hidden_layers * cached
    size = network.dtype.itemsize
    kinds_of_masks = len(set(getattr(config, "layer_types", None) or ["full_attention"]))
    # Eager attention keeps every head's weights, before and after its softmax.
    weights = 2 * heads * max(size, 4) if config._attn_implementation == "eager" else 0
    return PassLimit(
        token_bytes=size * (elements + config.vocab_size),
        # The mask itself and the booleans that it is made from.
        pair_bytes=kinds_of_masks * (size + 2) + weights,
        free_bytes=_SHARE * _free_bytes(network.device),
    )


def run_in_batches(
    order: Sequence[int],
    lengths: Sequence[int],
    run: Callable[[list[int]], Result],
    *,
    limit: PassLimit,
    max_tokens: int | None = None,
    max_rows: int | None = None,
    max_spread: int | None = None,
) -> Iterator[tuple[list[int], Result]]:
    """Run sequences in consecutive batches; one that runs out of memory is tried again, halved.

    Args:
        order: Positions in `lengths`, neighbours of similar length.
        lengths: Tokens of each sequence.
        run: Computes one batch, given its positions.
        limit: The model's.
        max_tokens: Most tokens of a batch, padding included; one longer sequence is run alone.
        max_rows: Most sequences of a batch.
        max_spread: Most tokens by which the sequences of a batch differ.

    Yields:
        The positions of each batch, and what `run` returned.

    Raises:
        UserError: if one sequence alone does not fit the memory.
    """
    start = 0
    longest = max((lengths[index] for index in order), default=0)
    while start < len(order):
        tokens = limit.tokens(longest=longest, at_most=max_tokens or longest * len(order))
        following = (lengths[order[at]] for at in range(start, len(order)))
        count = _rows_that_fit(following, tokens, max_rows, max_spread)
        batch = list(order[start : start + count])
        width = max(lengths[index] for index in batch)
        try:
            result = run(batch)
        except OUT_OF_MEMORY as error:
            limit.lower(error, num_tokens=width * count, divisible=count > 1)
            continue
        yield batch, result
        start += count


def _rows_that_fit(
    lengths: Iterable[int], tokens: int, max_rows: int | None, max_spread: int | None
) -> int:
    """How many of the first sequences make one batch; at least 1."""
    count, shortest, longest = 0, sys.maxsize, 0
    for length in itertools.islice(lengths, max_rows):
        shortest, longest = min(shortest, length), max(longest, length)
        too_many = longest * (count + 1) > tokens
        too_far = max_spread is not None and longest - shortest > max_spread
        if count and (too_many or too_far):
            break
        count += 1
    return count


def _is_about_memory(error: BaseException) -> bool:
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return any(words in str(error) for words in _WORDS_FOR_IT)


def _free_bytes(device: torch.device) -> float:
    if device.type == "cuda":
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return float(torch.cuda.mem_get_info(device)[0] + unused)
    free = float(psutil.virtual_memory().available)
    # SLURM grants a job less than the machine has.
    granted = _granted_by_slurm()
    if granted is not None:
        free = min(free, granted - psutil.Process().memory_info().rss)
    return max(free, 0.0)


def _granted_by_slurm() -> float | None:
    """Bytes that the job was granted on this node; SLURM names them in one of two ways."""
    per_node = os.environ.get("SLURM_MEM_PER_NODE", "")
    if per_node.isdigit():
        return float(per_node) * 2**20
    per_cpu, cpus = (os.environ.get(f"SLURM_{n}", "") for n in ("MEM_PER_CPU", "CPUS_ON_NODE"))
    return float(per_cpu) * float(cpus) * 2**20 if per_cpu.isdigit() and cpus.isdigit() else None
