"""Base-model context score: do the k best sources suffice, and are they needed?

"How Context Attribution Handles What the Model Already Knows", equations 3 to 6.

An example without scores, with fewer than k sources or with a subset that was not evaluated is
undefined and leaves all four accuracies of that method, so that they are over the same examples.
All ratios are NaN where the full-context gain is not positive, and the score is NaN where a ratio
is negative; the ratios themselves are shown as they are, also above 1.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from ctxaudit import seeds
from ctxaudit.ablation.masks import no_masks
from ctxaudit.interface import Answers, Attribution, BoolArray, FloatArray, OverlapResults
from ctxaudit.metrics.ranking import mean_over_top_k, why_no_top_k
from ctxaudit.metrics.rows import Row, row, table

HIGHER_IS_BETTER = True

plan_masks = no_masks

_DIGITS = 12


class Settings(BaseModel):
    """Sizes of the top and treatment of ties."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    k: list[PositiveInt] = Field([1, 2, 3], min_length=1, description="Sizes of the top.")
    num_tie_draws: int = Field(20, ge=1, description="Random orders of equal scores averaged.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """The score and its parts, each NaN where `reason` says why.

    Attributes:
        gain: Accuracy with the full context less accuracy without (equation 3).
        util: Share of the gain that the k best alone recover (equation 4).
        rmi: Share of the gain that is lost without the k best (equation 5).
        bcs: Geometric mean of the two (equation 6).
        reason: Why a part is NaN, else empty.
    """

    gain: float
    util: float
    rmi: float
    bcs: float
    reason: str = ""


def evaluate(results: OverlapResults, settings: Settings, *, seed: int) -> pd.DataFrame:
    """Rows `gain`, `util`, `rmi` and `bcs` of the base model per method and k."""
    return table(_rows(results, settings, seed))


def conditions(
    results: OverlapResults, method: str, k: int, *, num_tie_draws: int, seed: int
) -> FloatArray:
    """Base-model correctness of each example under the four conditions, (E, 4).

    Columns: no context, full context, the k best removed, only the k best. A row is NaN where
    any of them is undefined.
    """
    pairs = zip(results.answers["base"], results.attributions["base", method], strict=True)
    rows = [_conditions(*pair, k, num_tie_draws, seed, method) for pair in pairs]
    found = np.array(rows, dtype=np.float64).reshape(-1, 4)
    found[np.isnan(found).any(axis=1)] = np.nan
    return found


def why_undefined(conditions: FloatArray, attributions: Sequence[Attribution], k: int) -> list[str]:
    """Why each example's conditions (E, 4) are NaN, (E,); empty where they are not."""
    return [
        (why_no_top_k(attribution, k) or "a subset was not evaluated")
        if np.isnan(row).any()
        else ""
        for row, attribution in zip(conditions, attributions, strict=True)
    ]


def components(conditions: FloatArray) -> Components:
    """The score from the conditions (E, 4) of a set of examples, undefined ones left out."""
    known = conditions[~np.isnan(conditions).any(axis=1)]
    nan = float("nan")
    if not len(known):
        return Components(gain=nan, util=nan, rmi=nan, bcs=nan, reason="no example has a value")
    empty, full, removed, only = known.mean(axis=0)
    gain = float(full - empty)
    if gain <= 0:
        reason = "full-context gain is not positive"
        return Components(gain=gain, util=nan, rmi=nan, bcs=nan, reason=reason)
    # Means over tie draws carry rounding, which must not turn a 0 into a negative part.
    util, rmi = (
        round(float(part / gain), _DIGITS) + 0.0 for part in (only - empty, full - removed)
    )
    if min(util, rmi) < 0:
        return Components(gain=gain, util=util, rmi=rmi, bcs=nan, reason="Util or RmI is negative")
    return Components(gain=gain, util=util, rmi=rmi, bcs=float(np.sqrt(util * rmi)))


def _conditions(
    answers: Answers, attribution: Attribution, k: int, num_tie_draws: int, seed: int, method: str
) -> tuple[float, float, float, float]:
    empty = np.zeros(answers.masks.shape[1], dtype=bool)

    def mean(correct: Callable[[BoolArray], float]) -> float:
        return mean_over_top_k(
            attribution.scores,
            k,
            correct,
            rng=seeds.generator(seed, "base", method, answers.example_id),
            num_tie_draws=num_tie_draws,
        )

    removed, only = mean(lambda top: answers.correct(~top)), mean(answers.correct)
    return answers.correct(empty), answers.correct(~empty), removed, only


def _rows(results: OverlapResults, settings: Settings, seed: int) -> Iterator[Row]:
    for method in results.methods:
        for k in settings.k:
            found = conditions(results, method, k, num_tie_draws=settings.num_tie_draws, seed=seed)
            parts = components(found)
            reasons = why_undefined(found, results.attributions["base", method], k)
            for name in ("gain", "util", "rmi", "bcs"):
                yield row(
                    name,
                    method,
                    "base",
                    f"k={k}",
                    value=getattr(parts, name),
                    reasons=reasons,
                    reason=parts.reason,
                )
