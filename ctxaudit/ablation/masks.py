"""Subsets of an example's sources as boolean masks."""

import numpy as np

from ctxaudit.interface import BoolArray


def all_masks(num_sources: int) -> BoolArray:
    """All 2^S subsets, (2^S, S): the empty one first, the full one last.

    Row r keeps source i where bit i of r is set.
    """
    bits = np.arange(2**num_sources)[:, None] >> np.arange(num_sources)
    return np.asarray(bits % 2 == 1)


def no_masks(num_sources: int, settings: object, *, seed: int) -> BoolArray:
    """The plan of a method or metric that asks for no subset of its own: (0, S) bool."""
    return np.zeros((0, num_sources), dtype=bool)
