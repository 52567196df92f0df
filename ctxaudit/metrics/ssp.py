"""Source separation: does a method tell in-weight from in-context-only sources?

"How Context Attribution Handles What the Model Already Knows", equations 9 and 10: over the
questions that the tuned model answers without context and the base model does not, the share of
sources with the right label. Beside it `auc`: the chance that an in-context-only source of a
question scores higher than an in-weight one of the same question, averaged over questions, since
scores of different questions have no common scale.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict

from ctxaudit.ablation.masks import no_masks
from ctxaudit.interface import Attribution, Example, FloatArray, OverlapResults
from ctxaudit.metrics.ranking import why_no_top_k
from ctxaudit.metrics.rows import Row, mean, mean_row, row, table

HIGHER_IS_BETTER = True

plan_masks = no_masks


class Settings(BaseModel):
    """Source separation has nothing to set."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def evaluate(results: OverlapResults, settings: Settings, *, seed: int) -> pd.DataFrame:
    """Rows `ssp` and `auc` of the tuned model per method; its examples are the questions."""
    return table(_rows(results))


def learned(results: OverlapResults) -> list[int]:
    """Positions of the questions that only the tuned model knows without context."""
    pairs = zip(results.answers["base"], results.answers["tuned"], strict=True)
    empty = [np.zeros(len(example.sources), dtype=bool) for example in results.examples]
    return [
        position
        for position, ((base, tuned), mask) in enumerate(zip(pairs, empty, strict=True))
        if tuned.correct(mask) == 1 and base.correct(mask) == 0
    ]


def _rows(results: OverlapResults) -> Iterator[Row]:
    questions = learned(results)
    for method in results.methods:
        found = results.attributions["tuned", method]
        pairs = [(results.examples[position], found[position]) for position in questions]
        right = [_right_labels(example, attribution) for example, attribution in pairs]
        sources = np.concatenate([np.zeros(0), *right])
        none = "" if questions else "no question is known to the tuned model only"
        yield row(
            "ssp",
            method,
            "tuned",
            "",
            value=mean(sources),
            reasons=[
                _why_unlabelled(attribution) if np.isnan(labels).any() else ""
                for labels, (_, attribution) in zip(right, pairs, strict=True)
            ],
            reason=none,
        )
        aucs = np.array([_auc(example, attribution) for example, attribution in pairs])
        yield mean_row(
            "auc",
            method,
            "tuned",
            "",
            values=aucs,
            reasons=[
                (why_no_top_k(attribution) or "sources of one kind only") if np.isnan(auc) else ""
                for auc, (_, attribution) in zip(aucs, pairs, strict=True)
            ],
            reason=none,
        )


def _right_labels(example: Example, attribution: Attribution) -> FloatArray:
    """1 where a source's label is right, else 0, (S,); NaN where a label is missing."""
    true = [source.provenance for source in example.sources]
    if not attribution.labels or None in true:
        return np.full(len(true), np.nan)
    pairs = zip(attribution.labels, true, strict=True)
    return np.array([float(label == provenance) for label, provenance in pairs])


def _why_unlabelled(attribution: Attribution) -> str:
    if attribution.labels:
        return "a source of unknown provenance"
    return why_no_top_k(attribution) or "the method predicts no labels"


def _auc(example: Example, attribution: Attribution) -> float:
    from sklearn.metrics import roc_auc_score

    true = [source.provenance for source in example.sources]
    if np.isnan(attribution.scores).any() or set(true) != {"iw", "icl"}:
        return float("nan")
    return float(roc_auc_score([label == "icl" for label in true], attribution.scores))
