"""Which subsets of each example's sources are evaluated: one plan for all that reads them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ctxaudit import plugins
from ctxaudit.ablation.masks import all_masks
from ctxaudit.interface import BoolArray, Example

Settings = Mapping[str, Mapping[str, Any]]
"""Settings as plain values, by the name of a method or metric."""


def plan(
    examples: Sequence[Example],
    methods: Settings,
    metrics: Settings,
    *,
    exact_limit: int,
    seed: int,
) -> list[BoolArray]:
    """The masks to evaluate of each example, (A, S) bool.

    Args:
        examples: The examples.
        methods: Attribution methods; not read while an example has at most `exact_limit` sources.
        metrics: Metrics, likewise.
        exact_limit: See `merge`.
        seed: The seed that methods and metrics get later.
    """
    plans = {}
    for num_sources in {len(example.sources) for example in examples}:
        few = num_sources <= exact_limit
        masks = [] if few else wanted(num_sources, methods, metrics, seed=seed)
        plans[num_sources] = merge(num_sources, masks, exact_limit=exact_limit)
    return [plans[len(example.sources)] for example in examples]


def wanted(num_sources: int, methods: Settings, metrics: Settings, *, seed: int) -> list[BoolArray]:
    """What each method and metric asks for, (A_m, S) bool, whatever the scores turn out to be."""
    chosen = [
        (plugins.load(kind, name), settings)
        for kind, named in (("attribution", methods), ("metrics", metrics))
        for name, settings in named.items()
    ]
    return [
        plugin.plan_masks(num_sources, plugin.Settings.model_validate(settings), seed=seed)
        for plugin, settings in chosen
    ]


def merge(num_sources: int, masks: Sequence[BoolArray], *, exact_limit: int) -> BoolArray:
    """Distinct masks to evaluate, (A, S), the empty one first and the full one last.

    Args:
        num_sources: S.
        masks: What is asked for, (A_m, S) each.
        exact_limit: Up to this many sources all subsets are taken, so that no later setting
            needs the model again; beyond it those asked for, the empty and the full.
    """
    if num_sources <= exact_limit:
        return all_masks(num_sources)
    ends = np.array([[False] * num_sources, [True] * num_sources])
    return np.unique(np.concatenate([ends, *masks]), axis=0).astype(bool)
