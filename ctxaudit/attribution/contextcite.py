"""ContextCite: a sparse linear surrogate of v over random ablations.

"How Context Attribution Handles What the Model Already Knows", equations 11 and 12, with what
the original implementation adds and the equation leaves out: an intercept (without it every
coefficient has to carry a part of v(∅)), standardised masks, and v divided by the number of
response tokens, so that `alpha` is in nats per token.
"""

from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from ctxaudit.interface import Ablations, BoolArray, FloatArray

EVIDENCE: Literal["ablations"] = "ablations"
SEPARATION: Literal["contrast"] = "contrast"

_TOLERANCE = 1e-12
_MAX_ITER = 100_000


class Settings(BaseModel):
    """Ablations drawn and penalty of the surrogate."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    num_masks: int = Field(
        64, ge=2, description="Ablations drawn; one drawn twice counts twice in the fit."
    )
    keep_probability: float = Field(
        0.5, gt=0, lt=1, description="Probability that an ablation keeps a source."
    )
    alpha: float = Field(
        0.01,
        gt=0,
        description="L1 penalty on standardised masks and per-token log-probability.",
    )


def plan_masks(num_sources: int, settings: Settings, *, seed: int) -> BoolArray:
    """The ablations as drawn, (num_masks, S) bool; they depend on S, seed and settings only."""
    drawn = np.random.default_rng(seed).random((settings.num_masks, num_sources))
    return drawn < settings.keep_probability


def attribute(evidence: Ablations, settings: Settings, *, seed: int) -> FloatArray:
    """Coefficient of each source, (S,) nats of the whole response; NaN if a value is missing."""
    masks = plan_masks(evidence.num_sources, settings, seed=seed)
    values = np.array([evidence.value_of(mask) for mask in masks])
    if not np.isfinite(values).all():
        return np.full(evidence.num_sources, np.nan)
    return fit(masks, values / evidence.num_tokens, settings.alpha) * evidence.num_tokens


def fit(masks: BoolArray, targets: FloatArray, alpha: float) -> FloatArray:
    """LASSO coefficients of masks (A, S) for targets (A,), per unit of mask: (S,).

    Minimises 1/(2A) |targets - b - Z c|² + alpha |c|₁ over intercept b and coefficients c of the
    standardised masks Z, and returns c over the masks' standard deviations.
    """
    from sklearn.linear_model import Lasso
    from sklearn.preprocessing import StandardScaler

    if np.ptp(targets) == 0:
        return np.zeros(masks.shape[1])
    scaler = StandardScaler().fit(masks.astype(np.float64))
    lasso = Lasso(alpha=alpha, tol=_TOLERANCE, max_iter=_MAX_ITER)
    lasso.fit(scaler.transform(masks.astype(np.float64)), targets)
    return np.asarray(lasso.coef_ / scaler.scale_, dtype=np.float64)
