"""Cross-model consistency: does the ranking of the sources survive fine-tuning?

"How Context Attribution Handles What the Model Already Knows", equation 7. `cac_chance` is what
random rankings of contexts of the same sizes reach; a score near it says nothing.
"""

from collections.abc import Iterator
from itertools import cycle, islice
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from ctxaudit import seeds
from ctxaudit.ablation.masks import no_masks
from ctxaudit.interface import FloatArray, OverlapResults
from ctxaudit.metrics.ranking import draws, rbo, rbo_of_chance, why_no_top_k
from ctxaudit.metrics.rows import Row, mean_row, table

HIGHER_IS_BETTER = True

plan_masks = no_masks

Persistence = Annotated[float, Field(gt=0, lt=1)]


class Settings(BaseModel):
    """Persistence and treatment of ties."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rho: list[Persistence] = Field([0.5], min_length=1, description="Persistence of RBO.")
    num_tie_draws: int = Field(20, ge=1, description="Random orders of equal scores averaged.")


def evaluate(results: OverlapResults, settings: Settings, *, seed: int) -> pd.DataFrame:
    """Rows `cac` and `cac_chance` over both models, per method and persistence."""
    return table(_rows(results, settings, seed))


def agreements(
    results: OverlapResults, method: str, rho: float, *, num_tie_draws: int, seed: int
) -> FloatArray:
    """RBO of each example's base and tuned rankings, (E,); NaN where either has no scores."""
    base, tuned = results.attributions["base", method], results.attributions["tuned", method]
    return np.array(
        [
            _agreement(first.scores, second.scores, rho, num_tie_draws, rng)
            for first, second in zip(base, tuned, strict=True)
            for rng in [seeds.generator(seed, "both", method, first.example_id)]
        ]
    )


def why_undefined(results: OverlapResults, method: str) -> list[str]:
    """Why each example has no agreement, (E,); empty where it has one."""
    base, tuned = results.attributions["base", method], results.attributions["tuned", method]
    pairs = zip(base, tuned, strict=True)
    return [why_no_top_k(first) or why_no_top_k(second) for first, second in pairs]


def _agreement(
    first: FloatArray, second: FloatArray, rho: float, num_tie_draws: int, rng: np.random.Generator
) -> float:
    if np.isnan(first).any() or np.isnan(second).any():
        return float("nan")
    rankings = draws(first, rng, num_tie_draws), draws(second, rng, num_tie_draws)
    pairs = zip(*map(cycle, rankings), strict=True)
    num_pairs = max(map(len, rankings))
    return float(np.mean([rbo(one, other, rho) for one, other in islice(pairs, num_pairs)]))


def _rows(results: OverlapResults, settings: Settings, seed: int) -> Iterator[Row]:
    for method in results.methods:
        reasons = why_undefined(results, method)
        for rho in settings.rho:
            found = agreements(
                results, method, rho, num_tie_draws=settings.num_tie_draws, seed=seed
            )
            chance = np.array([rbo_of_chance(len(e.sources), rho) for e in results.examples])
            chance[np.isnan(found)] = np.nan
            for name, values in (("cac", found), ("cac_chance", chance)):
                yield mean_row(name, method, "both", f"rho={rho:g}", values=values, reasons=reasons)
