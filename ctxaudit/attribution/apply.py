"""Run one attribution method over many examples."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ctxaudit import plugins
from ctxaudit.attribution.separation import no_context_probability, separate
from ctxaudit.interface import (
    Ablations,
    Answers,
    Attribution,
    Evidence,
    Example,
    Response,
    TokenDistances,
    Variant,
)


def attribute(
    method_name: str,
    evidence: Sequence[Evidence],
    *,
    settings: Mapping[str, Any],
    p_empty: Sequence[float],
    seed: int,
) -> list[Attribution]:
    """Scores and predicted provenances of every example.

    Args:
        method_name: Module of `ctxaudit/attribution/`.
        evidence: What the method reads, one per example.
        settings: The method's settings as plain values.
        p_empty: No-context probability of each example's response, in the order of `evidence`.
        seed: The seed that the method's masks were planned with.

    Returns:
        One attribution per example; all its scores are NaN, with the reason, where one is.
    """
    method = plugins.load("attribution", method_name)
    checked = method.Settings.model_validate(settings)
    found = []
    for item, probability in zip(evidence, p_empty, strict=True):
        scores = method.attribute(item, checked, seed=seed)
        defined = bool(np.isfinite(scores).all())
        planned = method.plan_masks(item.num_sources, checked, seed=seed)
        found.append(
            Attribution(
                example_id=item.example_id,
                scores=scores if defined else np.full(item.num_sources, np.nan),
                labels=separate(method.SEPARATION, scores, probability),
                reason="" if defined else _reason(item),
                masks=np.unique(planned, axis=0),
            )
        )
    return found


def no_context_probabilities(
    examples: Sequence[Example],
    responses: Sequence[Response],
    evidence: Sequence[Answers | Ablations],
) -> list[float]:
    """p_∅ of each example's response, in one order for all arguments.

    NaN for a response that is none of the options while `evidence` holds options' scores.
    """
    return [
        no_context_probability(item, _choice(example, response))
        for example, response, item in zip(examples, responses, evidence, strict=True)
    ]


def long_table(
    examples: Sequence[Example],
    attributions: Mapping[tuple[Variant, str], Sequence[Attribution]],
) -> pd.DataFrame:
    """The scores of all methods, one row per variant, method, example and source."""
    rows = [
        {
            "variant": variant,
            "method": method,
            "example_id": example.id,
            "source": number,
            "provenance": source.provenance,
            "score": found.scores[number],
            "label": found.labels[number] if found.labels else None,
            "reason": found.reason,
        }
        for (variant, method), items in attributions.items()
        for example, found in zip(examples, items, strict=True)
        for number, source in enumerate(example.sources)
    ]
    return pd.DataFrame(rows)


def _choice(example: Example, response: Response) -> int | None:
    return example.choices.index(response.text) if response.text in example.choices else None


def _reason(evidence: Evidence) -> str:
    if isinstance(evidence, TokenDistances):
        no_tokens, numbers = not len(evidence.distances), evidence.distances
    else:
        no_tokens, numbers = evidence.num_tokens < 1, evidence.logprobs
    if no_tokens:
        return "the response has no token"
    if not np.isfinite(numbers).all():
        return "a log-probability or distance is not finite"
    return "an ablation that the method reads was not evaluated"
