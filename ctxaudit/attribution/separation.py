"""From attribution scores to a predicted provenance of each source.

"How Context Attribution Handles What the Model Already Knows", appendix C.
"""

from typing import Literal

import numpy as np

from ctxaudit.interface import Ablations, Answers, BoolArray, FloatArray, Provenance

_ROUNDING = 1e-12
"""Relative; equal scores must all reach a uniform share, whatever their sum rounds to."""


def separate(
    rule: Literal["contrast", "share"], scores: FloatArray, p_empty: float
) -> tuple[Provenance, ...]:
    """Predicted provenance of each source.

    Args:
        rule: `contrast` weighs a source's relative score against the no-context probability
            (equations 13 to 15); `share` asks for at least a uniform share (19, 20 and 22).
        scores: (S,) attribution scores.
        p_empty: No-context probability of the response, in [0, 1]; `share` does not read it.

    Returns:
        S labels; all `iw` where no score is positive; empty where an input is NaN.
    """
    if not np.isfinite(scores).all() or (rule == "contrast" and not np.isfinite(p_empty)):
        return ()
    positive = np.maximum(scores, 0)
    in_context = _contrast(positive, p_empty) if rule == "contrast" else _share(positive)
    labels: list[Provenance] = ["icl" if label else "iw" for label in in_context]
    return tuple(labels)


def no_context_probability(evidence: Answers | Ablations, choice: int | None = None) -> float:
    """Probability of the response without any source; NaN where that was not evaluated.

    The paper does not define its p_∅. Here it is the probability of the response itself, never of
    the gold answer.

    Args:
        evidence: The options' scores, to normalise over the options; or the response's own
            log-probabilities, for their geometric mean per token.
        choice: The option that is the response, with `Answers`.
    """
    empty = np.zeros(evidence.masks.shape[1], dtype=bool)
    if isinstance(evidence, Ablations):
        return float(np.exp(evidence.value_of(empty) / max(evidence.num_tokens, 1)))
    rows = np.flatnonzero(~evidence.masks.any(axis=1))
    if not rows.size or choice is None:
        return float("nan")
    scores = evidence.scores[rows[0]]
    weights = np.exp(scores - scores.max())
    return float(weights[choice] / weights.sum())


def _contrast(positive: FloatArray, p_empty: float) -> BoolArray:
    icl = positive / positive.max() if positive.any() else positive
    return np.asarray((icl > 0) & (icl >= p_empty * (1 - icl)))


def _share(positive: FloatArray) -> BoolArray:
    uniform = positive.sum() / len(positive)
    return np.asarray((positive > 0) & (positive >= uniform * (1 - _ROUNDING)))
