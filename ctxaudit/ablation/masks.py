"""Which subsets of an example's sources are evaluated."""

from collections.abc import Sequence

import numpy as np

from ctxaudit.interface import BoolArray


def all_masks(num_sources: int) -> BoolArray:
    """All 2^S subsets, (2^S, S): the empty one first, the full one last.

    Row r keeps source i where bit i of r is set.
    """
    bits = np.arange(2**num_sources)[:, None] >> np.arange(num_sources)
    return np.asarray(bits % 2 == 1)


def plan(num_sources: int, wanted: Sequence[BoolArray], *, exact_limit: int) -> BoolArray:
    """Distinct masks to evaluate, (A, S), the empty one first and the full one last.

    Args:
        num_sources: S.
        wanted: Masks that methods and metrics ask for, (A_m, S) each.
        exact_limit: Up to this many sources all subsets are taken, so that no later setting
            needs the model again; beyond it the wanted ones, the empty and the full.
    """
    if num_sources <= exact_limit:
        return all_masks(num_sources)
    ends = np.array([[False] * num_sources, [True] * num_sources])
    distinct = np.unique(np.concatenate([ends, *wanted]), axis=0)
    return distinct.astype(bool)
