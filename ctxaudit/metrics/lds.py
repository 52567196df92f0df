"""Linear data-modelling score: do the scores predict the effect of removing any subset?

Spearman correlation, over subsets, of the kept sources' summed scores with v, averaged over
examples (Park et al. 2023; Cohen-Wang et al. 2024). Where not all subsets are evaluated, random
ones are planned for it. `masks=held-out` leaves out the subsets that
the method may have read, `masks=all` takes every subset evaluated and is the one to compare
methods by, since it has the same subsets for all. Undefined, never 0, where the predictions or
the values are constant or fewer than three subsets are left.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from ctxaudit import seeds
from ctxaudit.interface import Ablations, Attribution, BoolArray, FloatArray, OverlapResults
from ctxaudit.metrics.ranking import why_no_top_k
from ctxaudit.metrics.rows import Row, mean_row, table

HIGHER_IS_BETTER = True

_KEEP_PROBABILITY = 0.5
_MIN_SUBSETS = 3
_DIGITS = 12


class Settings(BaseModel):
    """Subsets drawn where there are too many to take all."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    num_masks: int = Field(
        64, ge=0, description="Random subsets evaluated beyond `ablation.exact_limit` sources."
    )


def plan_masks(num_sources: int, settings: Settings, *, seed: int) -> BoolArray:
    """Subsets drawn evenly, (num_masks, S) bool, from another stream than ContextCite's."""
    rng = seeds.generator(seed, "lds")
    return np.asarray(rng.random((settings.num_masks, num_sources)) < _KEEP_PROBABILITY)


def evaluate(results: OverlapResults, settings: Settings, *, seed: int) -> pd.DataFrame:
    """Rows `lds` per model variant, method and choice of subsets: means over the examples."""
    return table(_rows(results))


def correlation(ablations: Ablations, scores: FloatArray, chosen: BoolArray) -> float:
    """Spearman correlation of summed scores and v over the chosen ablations (A,); may be NaN."""
    from scipy.stats import spearmanr

    predictions = _predict(ablations.masks[chosen], scores)
    values = ablations.values()[chosen]
    if _why_uncorrelated(predictions, values):
        return float("nan")
    return float(spearmanr(predictions, values).statistic)


def why_undefined(ablations: Ablations, attribution: Attribution, chosen: BoolArray) -> str:
    """Why there is no correlation over the chosen ablations (A,); empty where there is one."""
    predictions = _predict(ablations.masks[chosen], attribution.scores)
    found = _why_uncorrelated(predictions, ablations.values()[chosen])
    return found and (why_no_top_k(attribution) or found)


def _why_uncorrelated(predictions: FloatArray, values: FloatArray) -> str:
    if len(values) < _MIN_SUBSETS:
        return "fewer than three subsets"
    if not np.isfinite([predictions, values]).all():
        return "a prediction or a value is not finite"
    if np.ptp(predictions) == 0:
        return "the predictions are constant"
    return "the values are constant" if np.ptp(values) == 0 else ""


def _predict(masks: BoolArray, scores: FloatArray) -> FloatArray:
    """Summed scores of the kept sources, in units of all scores' size.

    Rounded, so that the order of a sum does not decide between equal predictions.
    """
    size = np.abs(scores).sum()
    return np.asarray(np.round(masks @ scores / size, _DIGITS)) if size else np.zeros(len(masks))


def _held_out(ablations: Ablations, attribution: Attribution) -> BoolArray:
    read = {mask.tobytes() for mask in attribution.masks}
    return np.array([mask.tobytes() not in read for mask in ablations.masks], dtype=bool)


def _rows(results: OverlapResults) -> Iterator[Row]:
    for variant, method in sorted(results.attributions):
        found = results.attributions[variant, method]
        pairs = list(zip(results.ablations[variant], found, strict=True))
        every = [np.ones(len(v.masks), dtype=bool) for v, _ in pairs]
        unseen = [_held_out(v, a) for v, a in pairs]
        for name, subsets in (("all", every), ("held-out", unseen)):
            chosen = [(v, a, subset) for (v, a), subset in zip(pairs, subsets, strict=True)]
            yield mean_row(
                "lds",
                method,
                variant,
                f"masks={name}",
                values=np.array([correlation(v, a.scores, subset) for v, a, subset in chosen]),
                reasons=[why_undefined(v, a, subset) for v, a, subset in chosen],
            )
