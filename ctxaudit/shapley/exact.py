"""Exact Shapley values from a full table of the value function."""

from math import comb

import numpy as np

from ctxaudit.interface import BoolArray, FloatArray


def exact(masks: BoolArray, values: FloatArray) -> FloatArray:
    """Shapley value of each player.

    Source: Shapley 1953, as the sum of marginal contributions over all coalitions.

    Args:
        masks: (A, S) bool, coalitions in any order.
        values: (A,) value of each coalition.

    Returns:
        (S,) in the unit of the values; they sum to v(N) - v(∅). All NaN where the value of any
        of the 2^S coalitions is missing or not finite.
    """
    num_players = masks.shape[1]
    bits = 1 << np.arange(num_players)
    table = np.full(2**num_players, np.nan)
    table[masks @ bits] = values
    if not np.isfinite(table).all():
        return np.full(num_players, np.nan)
    coalitions = np.arange(2**num_players)
    sizes = np.bitwise_count(coalitions)
    weights = np.array([1 / (num_players * comb(num_players - 1, s)) for s in range(num_players)])
    phi = np.empty(num_players)
    for player, bit in enumerate(bits):
        without = coalitions[coalitions & bit == 0]
        phi[player] = weights[sizes[without]] @ (table[without | bit] - table[without])
    return phi
