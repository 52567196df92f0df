"""The hidden states that probes and steering directions read, by conflict type."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ctxaudit.activations import grouped_last_token_states, last_token_states
from ctxaudit.interface import Example, Task
from ctxaudit.models import LanguageModel
from ctxaudit.probing.by_type import TWINS, Tensors, chosen, types
from ctxaudit.prompts import PromptTemplate
from ctxaudit.responding import combined_prompt, single_prompts

Templates = Mapping[Task, PromptTemplate]


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


def _calibration(examples: Sequence[Example], conflict_type: str) -> Iterator[Example]:
    for example in chosen(examples, conflict_type, "conflict"):
        if example.tags["part"] == "calibration":
            yield example
