"""Log-probabilities with every shared prefix computed once.

The trie of all sequences is laid out depth-first and cut into chunks, one forward pass each. A
token sees, through an explicit mask, its own ancestors and nothing else, at the position it has
in its own sequence. Between chunks only the ancestors of the next token stay in the cache, so
memory is bounded by one sequence and one chunk, however many sequences there are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import DynamicCache

from ctxaudit.ablation.plain import LogProbs, Scored, TokenPair, token_logprobs
from ctxaudit.ablation.trie import IntArray, Trie, build
from ctxaudit.models import LanguageModel

_CPU_CHUNK = 512
"""Larger chunks spend more on masked attention than they gain in matrix products."""


def supports(model: LanguageModel) -> bool:
    """Whether the model's attention is all full or sliding-window, per layer and by config."""
    config = model.network.config
    layers = set(getattr(config, "layer_types", None) or ())
    if not layers:
        return getattr(config, "sliding_window", None) is None
    return layers <= {"full_attention", "sliding_attention"}


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
    size = batch_tokens if model.device.type == "cuda" else min(batch_tokens, _CPU_CHUNK)
    results = [np.empty(len(response), dtype=np.float32) for _, response in pairs]
    missing = np.array([len(response) for _, response in pairs])
    cache = DynamicCache()
    cached = np.empty(0, dtype=np.int64)
    for start in range(0, len(tree.tokens), size):
        chunk = np.arange(start, min(start + size, len(tree.tokens)))
        wanted = targets.of_nodes(chunk[0], chunk[-1] + 1)
        logprobs = _forward(model, tree, chunk, cached, cache, wanted)
        for pair, place, value in zip(wanted.pairs, wanted.places, logprobs, strict=True):
            results[pair][place] = value
        np.subtract.at(missing, wanted.pairs, 1)
        complete = (pair for pair in np.unique(wanted.pairs).tolist() if not missing[pair])
        yield from ((pair, results[pair]) for pair in complete)
        cached = _keep_ancestors(cache, np.concatenate([cached, chunk]), tree, chunk[-1] + 1)


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


@torch.inference_mode()
def _forward(
    model: LanguageModel,
    tree: Trie,
    chunk: IntArray,
    cached: IntArray,
    cache: Any,
    wanted: _Targets,
) -> LogProbs:
    device = model.device
    nodes, rows = np.unique(wanted.nodes, return_inverse=True)
    logits = model.network(
        input_ids=torch.as_tensor(tree.tokens[chunk], device=device)[None],
        position_ids=torch.as_tensor(tree.depths[chunk], device=device)[None],
        attention_mask=_attention_mask(model, tree, chunk, cached),
        cache=cache,
        use_cache=True,
        logits_to_keep=torch.as_tensor(nodes - chunk[0], device=device),
    ).logits[0]
    return token_logprobs(logits, rows, wanted.tokens)


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
    config = model.network.config
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


def _keep_ancestors(cache: Any, held: IntArray, tree: Trie, following: int) -> IntArray:
    """Drop from the cache what no later token can see; returns the nodes that stay."""
    keep = np.flatnonzero(tree.ends[held] > following)
    for layer in cache.layers:
        index = torch.as_tensor(keep, device=layer.keys.device)
        layer.keys = layer.keys.index_select(2, index)
        layer.values = layer.values.index_select(2, index)
    return held[keep]
