"""The hidden states that probes and steering directions read, by conflict type."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ctxaudit.activations import grouped_last_token_states, last_token_states
from ctxaudit.config.conflict import Probing
from ctxaudit.interface import Example, FloatArray, Task
from ctxaudit.models import LanguageModel
from ctxaudit.probing import probes
from ctxaudit.prompts import PromptTemplate
from ctxaudit.responding import combined_prompt, single_prompts
from ctxaudit.steering.directions import direction

Tensors = dict[str, npt.NDArray[Any]]
Templates = Mapping[Task, PromptTemplate]

TWINS = ("conflict", "consistent")


def of_pairs(
    examples: Sequence[Example], model: LanguageModel, templates: Templates, *, batch_size: int
) -> Tensors:
    """States of the prompts with all evidence, conflicting and consistent.

    Returns:
        Per type and twin `<type>.<twin>` (N, L+1, D) float32 in the order of the examples, and
        `<type>.<twin>.tokens` (N,), the lengths of the prompts.
    """
    found: Tensors = {}
    for conflict_type in types(examples):
        for twin in TWINS:
            prompts = [
                combined_prompt(example, templates, model.tokenizer)
                for example in chosen(examples, conflict_type, twin)
            ]
            key = f"{conflict_type}.{twin}"
            found[key] = last_token_states(model, prompts, batch_size=batch_size)
            found[f"{key}.tokens"] = np.array([len(prompt) for prompt in prompts])
    return found


def of_single_evidence(
    examples: Sequence[Example], model: LanguageModel, templates: Templates, *, batch_size: int
) -> Tensors:
    """States of the prompts with one piece of evidence, for the calibration conflicts.

    Returns:
        Per type `<type>` (ΣK, L+1, D) float32, the pieces of one example together, and
        `<type>.pieces` (N,), their number per example.
    """
    found: Tensors = {}
    for conflict_type in types(examples):
        groups = [
            single_prompts(example, templates, model.tokenizer)
            for example in _calibration(examples, conflict_type)
        ]
        states = grouped_last_token_states(model, groups, batch_size=batch_size)
        found[conflict_type] = np.concatenate(states)
        found[f"{conflict_type}.pieces"] = np.array([len(group) for group in groups])
    return found


def probe(
    examples: Sequence[Example], pairs: Tensors, settings: Probing, *, seed: int
) -> pd.DataFrame:
    """Probes of every type: the columns of `columns.PROBES` after `conflict_type`."""
    tables = []
    for conflict_type in types(examples):
        groups = [example.group for example in chosen(examples, conflict_type, "conflict")]
        states = [pairs[f"{conflict_type}.{twin}"] for twin in TWINS]
        lengths = [pairs[f"{conflict_type}.{twin}.tokens"] for twin in TWINS]
        by_layer = probes.train(states[0], states[1], groups, settings, seed=seed)
        by_length = probes.length_baseline(
            lengths[0].tolist(), lengths[1].tolist(), groups, settings, seed=seed
        )
        table = pd.concat([by_length, by_layer], ignore_index=True)
        table.insert(0, "conflict_type", conflict_type)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def directions(
    examples: Sequence[Example], pairs: Tensors, single: Tensors
) -> dict[str, FloatArray]:
    """The steering direction of each type, (L, D), from its calibration conflicts alone."""
    found = {}
    for conflict_type in types(examples):
        parts = [e.tags["part"] for e in chosen(examples, conflict_type, "conflict")]
        rows = [number for number, part in enumerate(parts) if part == "calibration"]
        ends = np.cumsum(single[f"{conflict_type}.pieces"])[:-1]
        found[conflict_type] = direction(
            pairs[f"{conflict_type}.conflict"][rows], np.split(single[conflict_type], ends)
        )
    return found


def types(examples: Sequence[Example]) -> list[str]:
    """Conflict types present, sorted."""
    return sorted({example.tags["conflict_type"] for example in examples})


def chosen(examples: Sequence[Example], conflict_type: str, twin: str) -> list[Example]:
    """The examples of one type and twin, in their order."""
    wanted = {"conflict_type": conflict_type, "twin": twin}
    return [example for example in examples if wanted.items() <= example.tags.items()]


def _calibration(examples: Sequence[Example], conflict_type: str) -> Iterator[Example]:
    for example in chosen(examples, conflict_type, "conflict"):
        if example.tags["part"] == "calibration":
            yield example
