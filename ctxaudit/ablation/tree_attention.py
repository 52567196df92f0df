"""Attention over a packed trie, block by block: a block's keys are its ancestors and itself.

One mask for a whole chunk would make every token look at all keys of the chunk, most of which it
may not see. A block of neighbours in depth-first order shares nearly all of its ancestors.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import AttentionInterface

from ctxaudit.ablation.trie import IntArray, Trie

_NAME = "ctxaudit_tree"
_BLOCK = 64
"""Tokens of a block: larger ones mask more, smaller ones are too many calls."""


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive tokens of a chunk and what they may look at.

    Attributes:
        start: First token, in the chunk.
        stop: One past the last.
        spans: Ranges of the keys, cached ones first, that hold the ancestors and the block.
        full: Additive mask (tokens, keys) of layers with full attention.
        near: That of layers with a sliding window; the same where there is none.
    """

    start: int
    stop: int
    spans: list[tuple[int, int]]
    full: torch.Tensor
    near: torch.Tensor


def applies(network: Any) -> bool:
    """Whether the model's attention is the scaled dot product alone, and its own text model."""
    config = network.config
    return (
        config is config.get_text_config()
        and config._attn_implementation == "sdpa"
        and getattr(config, "attn_logit_softcapping", None) is None
    )


def cut(tree: Trie, cached: IntArray, chunk: IntArray, network: Any) -> list[Block]:
    """The blocks of a chunk, given the nodes whose keys are cached."""
    columns = np.concatenate([cached, chunk])
    window = getattr(network.config, "sliding_window", None)
    found = []
    for start in range(0, len(chunk), _BLOCK):
        rows = chunk[start : start + _BLOCK, None]
        # An ancestor of any token of the block that stands before it is one of its first token's.
        held = np.flatnonzero((columns <= rows[-1]) & (tree.ends[columns] > rows[0]))
        keys = columns[held]
        seen = (keys <= rows) & (rows < tree.ends[keys])
        near = seen if window is None else seen & (tree.depths[rows] - tree.depths[keys] < window)
        full = _additive(seen, network)
        found.append(
            Block(
                start=start,
                stop=start + len(rows),
                spans=_spans(held),
                full=full,
                near=full if near is seen else _additive(near, network),
            )
        )
    return found


@contextlib.contextmanager
def installed(network: Any) -> Iterator[None]:
    """Let the network attend by the `tree_blocks` that its passes are given."""
    own = network.config._attn_implementation
    network.set_attn_implementation(_NAME)
    try:
        yield
    finally:
        network.set_attn_implementation(own)


def _attend(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: None,
    *,
    tree_blocks: Sequence[Block],
    scaling: float | None = None,
    sliding_window: int | None = None,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Attention of one layer: query (1, H, T, D), keys and values (1, Hkv, K, D) → (1, T, H, D)."""
    output = torch.empty_like(query.transpose(1, 2))
    for block in tree_blocks:
        keys, values = (
            torch.cat([part[:, :, first:last] for first, last in block.spans], dim=2)
            for part in (key, value)
        )
        attended = torch.nn.functional.scaled_dot_product_attention(
            query[:, :, block.start : block.stop],
            keys,
            values,
            attn_mask=block.full if sliding_window is None else block.near,
            scale=scaling,
            enable_gqa=query.shape[1] != key.shape[1],
        )
        output[:, block.start : block.stop] = attended.transpose(1, 2)
    return output, None


AttentionInterface.register(_NAME, _attend)


def _spans(positions: IntArray) -> list[tuple[int, int]]:
    """Ranges of consecutive positions."""
    runs = np.split(positions, np.flatnonzero(np.diff(positions) != 1) + 1)
    return [(int(run[0]), int(run[-1]) + 1) for run in runs]


def _additive(allowed: np.ndarray[Any, Any], network: Any) -> torch.Tensor:
    mask = torch.zeros(allowed.shape, dtype=network.dtype)
    mask.masked_fill_(torch.from_numpy(~allowed), torch.finfo(network.dtype).min)
    return mask[None, None].to(network.device)
