"""TracLLM: a binary tree over the sources, scored from the top, pruned to the best nodes.

"How Context Attribution Handles What the Model Already Knows", appendix C: the score of a node
is the larger of its weighted leave-one-out and its single-text contribution, each against the
full and the empty context, and one tree is pruned by that score. A level of at most `top_k`
nodes needs no pruning and is split unscored. A source in a pruned node keeps the score that the
node had when it was last scored, so that no source is without one.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from ctxaudit import seeds
from ctxaudit.interface import Ablations, BoolArray, FloatArray

EVIDENCE: Literal["ablations"] = "ablations"
SEPARATION: Literal["contrast"] = "contrast"

Node = tuple[int, ...]
"""Neighbouring sources, by index."""


class Settings(BaseModel):
    """Width of the search and weight of its two scores."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    top_k: int = Field(5, ge=1, description="Nodes kept at each level of the tree (K).")
    w_loo: float = Field(
        2.0, ge=0, description="Weight of leave-one-out against the single-text contribution."
    )


def plan_masks(num_sources: int, settings: Settings, *, seed: int) -> BoolArray:
    """Every node of the unpruned tree and its complement, (A, S) bool with distinct rows.

    Which nodes are pruned is known only after looking at v, so the whole tree is asked for:
    at most 4 S masks, with the empty and the full context, all singles and all leave-one-outs.
    """
    level: list[Node] = [tuple(range(num_sources))]
    nodes = list(level)
    while any(len(node) > 1 for node in level):
        level = _split(level)
        nodes += level
    masks = np.array([_mask(node, num_sources) for node in nodes])
    return np.unique(np.vstack([masks, ~masks]), axis=0)


def attribute(evidence: Ablations, settings: Settings, *, seed: int) -> FloatArray:
    """Score of each source, (S,) nats; NaN where a value is missing.

    Of nodes with equal scores, random ones are pruned.
    """
    rng = seeds.generator(seed, "tracllm", evidence.example_id)
    scores = np.full(evidence.num_sources, np.nan)
    level: list[Node] = [tuple(range(evidence.num_sources))]
    while any(len(node) > 1 for node in level):
        if len(level) > settings.top_k:
            level = _best(level, _score(level, scores, evidence, settings), settings.top_k, rng)
        level = _split(level)
    _score(level, scores, evidence, settings)
    return scores


def _score(
    nodes: Sequence[Node], scores: FloatArray, evidence: Ablations, settings: Settings
) -> FloatArray:
    """Score each node and write it to the scores of its sources."""
    empty = np.zeros(evidence.num_sources, dtype=bool)
    v_empty, v_full = evidence.value_of(empty), evidence.value_of(~empty)
    node_scores = np.empty(len(nodes))
    for position, node in enumerate(nodes):
        mask = _mask(node, evidence.num_sources)
        alone = evidence.value_of(mask) - v_empty
        removed = v_full - evidence.value_of(~mask)
        node_scores[position] = np.maximum(settings.w_loo * removed, alone)
        scores[list(node)] = node_scores[position]
    return node_scores


def _best(
    nodes: Sequence[Node], node_scores: FloatArray, top_k: int, rng: np.random.Generator
) -> list[Node]:
    order = np.lexsort((rng.random(len(nodes)), -node_scores))
    return [nodes[position] for position in sorted(order[:top_k])]


def _split(nodes: Sequence[Node]) -> list[Node]:
    halves = ((node[: len(node) // 2], node[len(node) // 2 :]) for node in nodes)
    return [half for pair in halves for half in pair if half]


def _mask(node: Node, num_sources: int) -> BoolArray:
    return np.isin(np.arange(num_sources), node)
