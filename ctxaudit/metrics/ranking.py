"""Rankings of sources by score, and how well two rankings agree.

Equal scores are common (a LASSO sets several to 0), and no rule by position would be fair to all
positions. So ties are broken at random, and what depends on a ranking is averaged over draws.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ctxaudit.interface import Attribution, BoolArray, FloatArray

Ranking = npt.NDArray[np.int64]
"""(S,) indices of the sources, best first."""


def rank(scores: FloatArray, rng: np.random.Generator) -> Ranking:
    """Sources by falling score (S,), equal ones in random order."""
    return np.lexsort((rng.random(len(scores)), -scores))


def draws(scores: FloatArray, rng: np.random.Generator, num_tie_draws: int) -> list[Ranking]:
    """Rankings to average over: one where all scores differ, else `num_tie_draws`."""
    has_ties = len(np.unique(scores)) < len(scores)
    return [rank(scores, rng) for _ in range(num_tie_draws if has_ties else 1)]


def mean_over_top_k(
    scores: FloatArray,
    k: int,
    value: Callable[[BoolArray], float],
    *,
    rng: np.random.Generator,
    num_tie_draws: int,
) -> float:
    """Mean of a value of the mask (S,) of the k best sources, over the tie draws.

    NaN where scores are NaN, there are fewer than k sources, or the value is NaN in any draw.
    """
    if len(scores) < k or np.isnan(scores).any():
        return float("nan")
    tops = [np.isin(np.arange(len(scores)), r[:k]) for r in draws(scores, rng, num_tie_draws)]
    return float(np.mean([value(top) for top in tops]))


def why_no_top_k(attribution: Attribution, k: int = 1) -> str:
    """Why an example has no k best sources: no scores, or fewer sources; empty where it has."""
    if np.isnan(attribution.scores).any():
        return attribution.reason or "no scores"
    return f"fewer than {k} sources" if len(attribution.scores) < k else ""


def rbo(first: Ranking, second: Ranking, rho: float) -> float:
    """Extrapolated rank-biased overlap of two rankings of the same sources, in [0, 1].

    The agreement at the last depth is taken to go on for ever, so identical lists give 1.
    Source: Webber, Moffat and Zobel 2010, equation 32, which for lists of one length is their
    equation 30.

    Args:
        first: (S,).
        second: (S,).
        rho: Persistence p in (0, 1): the chance of looking one rank further.
    """
    seen_in_both = first[:, None] == second[None, :]
    depth = np.arange(1, len(first) + 1)
    overlap = seen_in_both.cumsum(axis=0).cumsum(axis=1).diagonal()
    return float(_extrapolate(overlap / depth, rho))


def rbo_of_chance(num_sources: int, rho: float) -> float:
    """Expected extrapolated RBO of two independent random rankings.

    In closed form: each of the d best of one ranking is among the d best of the other with
    probability d / S, so the expected agreement at depth d is d / S.
    """
    return float(_extrapolate(np.arange(1, num_sources + 1) / num_sources, rho))


def _extrapolate(agreement: FloatArray, rho: float) -> float:
    weights = rho ** np.arange(1, len(agreement) + 1)
    return float(agreement[-1] * weights[-1] + (1 - rho) / rho * (agreement * weights).sum())
