"""Log-probabilities with every shared prefix computed once.

The trie of all sequences is laid out depth-first and cut into chunks, one forward pass each. A
token sees, through an explicit mask, its own ancestors and nothing else, at the position it has
in its own sequence. Between chunks only the ancestors of the next token stay in the cache, so
memory is bounded by one sequence and one chunk, however many sequences there are.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import DynamicCache

from ctxaudit.ablation import tree_attention
from ctxaudit.ablation.plain import LogProbs, Scored, TokenPair, token_logprobs
from ctxaudit.ablation.trie import IntArray, Trie, build
from ctxaudit.memory import OUT_OF_MEMORY
from ctxaudit.models import LanguageModel

_CPU_CHUNK = 512
"""With one mask for all of it, a larger chunk is no faster: the mask grows with its square."""

_CPU_CHUNK_IN_BLOCKS = 2048


_SHARING = {
    "gemma2",
    "gemma3",
    "gemma3_text",
    "gpt_neox",
    "gpt_oss",
    "llama",
    "mistral",
    "qwen2",
    "qwen3",
}
"""Families, by the `model_type` of their text model, that are tested to give what single passes
give. Others may have what a mask and positions cannot say, such as states or biases by distance."""

_BY_LENGTH = {"dynamic", "longrope"}
"""Rotary embeddings that depend on the length of the whole pass."""


def supports(model: LanguageModel) -> bool:
    """Whether the model's attention is known to be all said by a mask and positions."""
    config = model.network.config.get_text_config()
    layers = set(getattr(config, "layer_types", None) or ())
    if config.model_type not in _SHARING or rope_types(config) & _BY_LENGTH:
        return False
    if not layers:
        return getattr(config, "sliding_window", None) is None
    return layers <= {"full_attention", "sliding_attention"}


def rope_types(config: Any) -> set[str]:
    """Kinds of rotary embedding that a text model's configuration names, over all its layers."""
    stated = getattr(config, "rope_parameters", None) or {}
    parts = [stated, *(part for part in stated.values() if isinstance(part, dict))]
    return {str(part["rope_type"]) for part in parts if "rope_type" in part}


def score_shared(
    model: LanguageModel, pairs: Sequence[TokenPair], *, batch_tokens: int
) -> Iterator[Scored]:
    """Score responses to prompts over their token trie.

    Args:
        model: A model that `supports` accepts.
        pairs: Distinct (prompt, response), neither of them empty.
        batch_tokens: Upper limit of new tokens in one forward pass.

    Yields:
        Position in `pairs` and log-probability of each response token (T,), nats, in the order
        in which they become complete.
    """
    # The last response token predicts nothing, so it is never run.
    tree = build([(*prompt, *response[:-1]) for prompt, response in pairs])
    targets = _targets(pairs, tree)
    at_most = min(batch_tokens, _most_tokens(model))
    longest = max(len(path) for path in tree.paths)
    results = [np.empty(len(response), dtype=np.float32) for _, response in pairs]
    missing = np.array([len(response) for _, response in pairs])
    kept = _Kept(np.empty(0, dtype=np.int64), [])
    start = 0
    while start < len(tree.tokens):
        size = model.pass_limit.tokens(longest=longest, at_most=at_most)
        chunk = np.arange(start, min(start + size, len(tree.tokens)))
        wanted = targets.of_nodes(chunk[0], chunk[-1] + 1)
        try:
            logprobs, kept = _forward(model, tree, chunk, kept, wanted)
        except OUT_OF_MEMORY as error:
            model.pass_limit.lower(error, num_tokens=len(chunk), divisible=len(chunk) > 1)
            continue
        start += len(chunk)
        for pair, place, value in zip(wanted.pairs, wanted.places, logprobs, strict=True):
            results[pair][place] = value
        np.subtract.at(missing, wanted.pairs, 1)
        complete = (pair for pair in np.unique(wanted.pairs).tolist() if not missing[pair])
        yield from ((pair, results[pair]) for pair in complete)


def _in_blocks(model: LanguageModel) -> bool:
    # On a GPU the many small calls are not measured.
    return model.device.type == "cpu" and tree_attention.applies(model.network)


def _most_tokens(model: LanguageModel) -> int:
    if model.device.type != "cpu":
        return sys.maxsize
    return _CPU_CHUNK_IN_BLOCKS if _in_blocks(model) else _CPU_CHUNK


@dataclass(frozen=True, slots=True)
class _Targets:
    """What is to be read where: parallel arrays, sorted by node."""

    nodes: IntArray
    tokens: IntArray
    pairs: IntArray
    places: IntArray

    def of_nodes(self, start: int, stop: int) -> "_Targets":
        low, high = np.searchsorted(self.nodes, [start, stop])
        columns = (self.nodes, self.tokens, self.pairs, self.places)
        return _Targets(*(column[low:high] for column in columns))


def _targets(pairs: Sequence[TokenPair], tree: Trie) -> _Targets:
    lengths = [len(response) for _, response in pairs]
    predicting = zip(pairs, tree.paths, strict=True)
    nodes = np.concatenate([path[len(prompt) - 1 :] for (prompt, _), path in predicting])
    tokens = np.concatenate([np.asarray(response) for _, response in pairs])
    places = np.concatenate([np.arange(length) for length in lengths])
    order = np.argsort(nodes, kind="stable")
    owners = np.repeat(np.arange(len(pairs)), lengths)
    return _Targets(nodes[order], tokens[order], owners[order], places[order])


@dataclass(frozen=True, slots=True)
class _Kept:
    """What later tokens can still see: nodes of the trie, keys and values of each layer."""

    nodes: IntArray
    layers: list[tuple[torch.Tensor, torch.Tensor]]


@torch.inference_mode()
def _forward(
    model: LanguageModel, tree: Trie, chunk: IntArray, kept: _Kept, wanted: _Targets
) -> tuple[LogProbs, _Kept]:
    """Log-probabilities that the chunk's tokens predict, and what stays for the next chunk."""
    device = model.device
    # A cache of its own for each pass: one that ran out of memory half-way is of no use.
    cache = DynamicCache(kept.layers or None)
    nodes, rows = np.unique(wanted.nodes, return_inverse=True)
    given: dict[str, Any] = {
        "input_ids": torch.as_tensor(tree.tokens[chunk], device=device)[None],
        "position_ids": torch.as_tensor(tree.depths[chunk], device=device)[None],
        "cache": cache,
        "use_cache": True,
        "logits_to_keep": torch.as_tensor(nodes - chunk[0], device=device),
    }
    if _in_blocks(model):
        given["tree_blocks"] = tree_attention.cut(tree, kept.nodes, chunk, model.network)
        with tree_attention.installed(model.network):
            logits = model.network(**given).logits[0]
    else:
        mask = _attention_mask(model, tree, chunk, kept.nodes)
        logits = model.network(attention_mask=mask, **given).logits[0]
    seen = np.concatenate([kept.nodes, chunk])
    return token_logprobs(logits, rows, wanted.tokens), _ancestors(cache, seen, tree, chunk[-1] + 1)


def _attention_mask(model: LanguageModel, tree: Trie, chunk: IntArray, cached: IntArray) -> Any:
    """Additive mask (1, 1, chunk, cached + chunk), per layer type where the model has several."""
    device, dtype = model.device, model.network.dtype
    columns = np.concatenate([cached, chunk])
    column, end, depth = (
        torch.as_tensor(array, device=device)
        for array in (columns, tree.ends[columns], tree.depths[columns])
    )
    row, row_depth = column[len(cached) :, None], depth[len(cached) :, None]
    ancestors = (column <= row) & (row < end)
    config = model.network.config.get_text_config()
    if "sliding_attention" not in (getattr(config, "layer_types", None) or ()):
        return _additive(ancestors, dtype)
    near = row_depth - depth < config.sliding_window
    return {
        "full_attention": _additive(ancestors, dtype),
        "sliding_attention": _additive(ancestors & near, dtype),
    }


def _additive(allowed: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Zero where attention is allowed; eager attention adds its mask, so bool would not do."""
    mask = torch.zeros(allowed.shape, dtype=dtype, device=allowed.device)
    return mask.masked_fill_(~allowed, torch.finfo(dtype).min)[None, None]


def _ancestors(cache: Any, seen: IntArray, tree: Trie, following: int) -> _Kept:
    """Of the nodes seen, those that the following one or a later one descends from."""
    keep = np.flatnonzero(tree.ends[seen] > following)
    index = torch.as_tensor(keep)
    layers = []
    for layer in cache.layers:
        # The layers of a large model need not share a device.
        near = index.to(layer.keys.device)
        layers.append((layer.keys.index_select(2, near), layer.values.index_select(2, near)))
    return _Kept(seen[keep], layers)
