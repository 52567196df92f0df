"""The steering direction: from the combined prompts' centre towards the neutral one."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ctxaudit.interface import FloatArray
from ctxaudit.logs import logger

_MIN_NORM = 1e-8


def direction(
    combined: npt.NDArray[np.floating], single: Sequence[npt.NDArray[np.floating]]
) -> FloatArray:
    """u of "Contextual Knowledge Conflicts" (arXiv 2609.03148, 2026), eq. 6, for blocks 1…L.

    Args:
        combined: (N, L+1, D) states of the prompts with all evidence; layer 0 is not used.
        single: N arrays (K_n, L+1, D), states of the prompts with one piece of evidence each.

    Returns:
        (L, D) float64, each row of unit length, or zero where the two centres coincide, which is
        logged with the number of such blocks.
    """
    if len(single) != len(combined) or not len(combined):
        raise ValueError(f"{len(combined)} combined and {len(single)} sets of single states")
    # Every sample has the same weight, whatever its number of pieces.
    neutral = np.mean([states.mean(axis=0, dtype=np.float64) for states in single], axis=0)
    difference = (neutral - combined.mean(axis=0, dtype=np.float64))[1:]
    norms = np.linalg.norm(difference, axis=-1, keepdims=True)
    degenerate = norms < _MIN_NORM
    if degenerate.any():
        blocks = (np.flatnonzero(degenerate) + 1).tolist()
        logger.warning("the direction of %d blocks has no length: %s", len(blocks), blocks)
    return np.where(degenerate, 0.0, difference / np.maximum(norms, _MIN_NORM))
