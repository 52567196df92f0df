"""Balance: how unequally the pieces of evidence contribute to a response.

"Large Language Models in Resolving Contextual Knowledge Conflicts", section 3.1: Shapley values
of the scorer's length-normalised log-likelihood (equation 1), clipped at 0 and normalised to
shares, and the normalised Gini coefficient of the shares (equation 2).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ctxaudit import columns
from ctxaudit.interface import Ablations, FloatArray, Response
from ctxaudit.shapley.exact import exact

_MIN_RELATIVE_MASS = 1e-6
_MIN_MASS = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """Shares of the sources and their inequality.

    Attributes:
        value: 0 for equal shares, 1 for a single contributor; NaN where undefined.
        shares: (S,) non-negative, summing to 1; NaN where undefined.
        reason: Why it is undefined, else empty.
    """

    value: float
    shares: FloatArray
    reason: str = ""


def balance(shapley: FloatArray) -> Balance:
    """Balance from the Shapley values of one response, (S,) nats per token.

    Undefined for a single source, and where the positive mass is no more than rounding: otherwise
    noise would decide between no value and full inequality.
    """
    num_sources = len(shapley)
    positive = np.maximum(shapley, 0)
    mass = float(positive.sum())
    undefined = np.full(num_sources, np.nan)
    reason = _undefined(shapley, mass)
    if reason:
        return Balance(value=float("nan"), shares=undefined, reason=reason)
    shares = positive / mass
    ranks = np.arange(1, num_sources + 1)
    gini = (2 * ranks - num_sources - 1) @ np.sort(shares) / num_sources
    return Balance(value=float(gini * num_sources / (num_sources - 1)), shares=shares)


def measure(
    ablations: Sequence[Ablations],
    responses: Sequence[Response],
    conflict_types: Mapping[str, str],
) -> pd.DataFrame:
    """Balance of each response that was scored; a refusal uses no evidence and has none.

    Args:
        ablations: One per response, with all subsets of its sources.
        responses: The responses, matched by example id; others are left aside.
        conflict_types: Conflict type by example id.

    Returns:
        The columns `BALANCE`, one row per scored response.
    """
    finishes = {response.example_id: response.finish for response in responses}
    rows = [
        _row(item, finishes[item.example_id], conflict_types[item.example_id]) for item in ablations
    ]
    return pd.DataFrame(rows, columns=list(columns.BALANCE))


def _undefined(shapley: FloatArray, mass: float) -> str:
    if np.isnan(shapley).any():
        return "no finite value for some subset of the sources"
    if len(shapley) < 2:
        return "a single source has nothing to be balanced with"
    if mass == 0:
        return "no source contributes to the response"
    if mass < max(_MIN_RELATIVE_MASS * abs(shapley.sum()), _MIN_MASS):
        return "the positive contributions are no more than rounding"
    return ""


def _row(ablations: Ablations, finish: str, conflict_type: str) -> tuple[object, ...]:
    num_tokens = ablations.num_tokens
    shapley = exact(ablations.masks, ablations.values() / max(num_tokens, 1))
    found = balance(shapley)
    empty = np.zeros(ablations.num_sources, dtype=bool)
    gain = (ablations.value_of(~empty) - ablations.value_of(empty)) / max(num_tokens, 1)
    if num_tokens < 1:
        found = replace(found, reason="the response has no token")
    if finish == "refusal":
        # What a refusal owes to the evidence is no use of it.
        nothing = np.full_like(shapley, np.nan)
        found, gain = Balance(value=float("nan"), shares=nothing, reason="refused"), float("nan")
    return (
        ablations.example_id,
        conflict_type,
        ablations.num_sources,
        shapley.tolist(),
        found.shares.tolist(),
        found.value,
        gain,
        finish,
        found.reason,
    )
