"""Drop@k: the log-probability that the response loses without the k best sources.

Nats, summed over the response (Cohen-Wang et al. 2024, "ContextCite"). An example without scores,
with fewer than k sources or with a subset that was not evaluated is undefined.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from ctxaudit import seeds
from ctxaudit.ablation.masks import no_masks
from ctxaudit.interface import Ablations, BoolArray, FloatArray, OverlapResults, Variant
from ctxaudit.metrics.ranking import mean_over_top_k, why_no_top_k
from ctxaudit.metrics.rows import Row, mean_row, table

HIGHER_IS_BETTER = True

plan_masks = no_masks

_NOT_EVALUATED = "v of all sources or of those without the best is not known"


class Settings(BaseModel):
    """Sizes of the top and treatment of ties."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    k: list[PositiveInt] = Field([1, 3, 5], min_length=1, description="Sizes of the top.")
    num_tie_draws: int = Field(20, ge=1, description="Random orders of equal scores averaged.")


def evaluate(results: OverlapResults, settings: Settings, *, seed: int) -> pd.DataFrame:
    """Rows `drop_at_k` per model variant, method and k: means over the examples."""
    return table(_rows(results, settings, seed))


def drops(
    results: OverlapResults,
    variant: Variant,
    method: str,
    k: int,
    *,
    num_tie_draws: int,
    seed: int,
) -> FloatArray:
    """v(N) - v(N without the k best) of each example, (E,) nats; NaN where undefined."""
    pairs = zip(results.ablations[variant], results.attributions[variant, method], strict=True)
    return np.array(
        [
            mean_over_top_k(
                attribution.scores,
                k,
                partial(_drop, ablations),
                rng=seeds.generator(seed, variant, method, ablations.example_id),
                num_tie_draws=num_tie_draws,
            )
            for ablations, attribution in pairs
        ]
    )


def _drop(ablations: Ablations, top: BoolArray) -> float:
    return ablations.value_of(np.ones_like(top)) - ablations.value_of(~top)


def _rows(results: OverlapResults, settings: Settings, seed: int) -> Iterator[Row]:
    for variant, method in sorted(results.attributions):
        for k in settings.k:
            found = drops(
                results, variant, method, k, num_tie_draws=settings.num_tie_draws, seed=seed
            )
            reasons = [
                (why_no_top_k(attribution, k) or _NOT_EVALUATED) if np.isnan(drop) else ""
                for drop, attribution in zip(
                    found, results.attributions[variant, method], strict=True
                )
            ]
            yield mean_row("drop_at_k", method, variant, f"k={k}", values=found, reasons=reasons)
