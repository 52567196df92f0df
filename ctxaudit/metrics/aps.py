"""Attribution preservation: the harmonic mean of base-model score and consistency.

"How Context Attribution Handles What the Model Already Knows", equation 8. Undefined where either
part is; an example counts as undefined where it enters only one of them or neither.
"""

from collections.abc import Iterator

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from ctxaudit.ablation.masks import no_masks
from ctxaudit.interface import OverlapResults
from ctxaudit.metrics import bcs, cac
from ctxaudit.metrics.rows import Row, mean, row, table

HIGHER_IS_BETTER = True

plan_masks = no_masks


class Settings(BaseModel):
    """Every k is combined with every persistence."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    k: list[PositiveInt] = Field([1, 2, 3], min_length=1, description="Sizes of the top.")
    rho: list[cac.Persistence] = Field([0.5], min_length=1, description="Persistence of RBO.")
    num_tie_draws: int = Field(20, ge=1, description="Random orders of equal scores averaged.")


def evaluate(results: OverlapResults, settings: Settings, *, seed: int) -> pd.DataFrame:
    """Rows `aps` over both models, per method, k and persistence."""
    return table(_rows(results, settings, seed))


def harmonic_mean(first: float, second: float) -> float:
    """Harmonic mean of two numbers that are not negative; 0 where both are 0."""
    total = first + second
    return 2 * first * second / total if total else 0.0


def _rows(results: OverlapResults, settings: Settings, seed: int) -> Iterator[Row]:
    num_tie_draws = settings.num_tie_draws
    for method in results.methods:
        of_cac = cac.why_undefined(results, method)
        for k in settings.k:
            correct = bcs.conditions(results, method, k, num_tie_draws=num_tie_draws, seed=seed)
            parts = bcs.components(correct)
            of_bcs = bcs.why_undefined(correct, results.attributions["base", method], k)
            for rho in settings.rho:
                agreement = cac.agreements(
                    results, method, rho, num_tie_draws=num_tie_draws, seed=seed
                )
                yield row(
                    "aps",
                    method,
                    "both",
                    f"k={k},rho={rho:g}",
                    value=harmonic_mean(parts.bcs, mean(agreement)),
                    reasons=[one or other for one, other in zip(of_bcs, of_cac, strict=True)],
                    reason=parts.reason,
                )
