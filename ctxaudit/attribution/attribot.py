"""Exact leave-one-out: what the response loses when one source is removed (AttriBoT).

"How Context Attribution Handles What the Model Already Knows", equation 17.
"""

from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from ctxaudit.interface import Ablations, BoolArray, FloatArray

EVIDENCE: Literal["ablations"] = "ablations"
SEPARATION: Literal["share"] = "share"


class Settings(BaseModel):
    """Leave-one-out has nothing to set."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def plan_masks(num_sources: int, settings: Settings, *, seed: int) -> BoolArray:
    """The full context, then the context without each source, (S + 1, S) bool."""
    return np.vstack([np.ones((1, num_sources), dtype=bool), ~np.eye(num_sources, dtype=bool)])


def attribute(evidence: Ablations, settings: Settings, *, seed: int) -> FloatArray:
    """v(N) - v(N without i) of each source i, (S,) nats; NaN where a value is missing."""
    masks = plan_masks(evidence.num_sources, settings, seed=seed)
    full, *without = [evidence.value_of(mask) for mask in masks]
    return np.array([full - value for value in without])
