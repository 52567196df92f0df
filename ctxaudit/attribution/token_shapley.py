"""TokenShapley: KNN-Shapley values of context tokens for the response tokens.

"How Context Attribution Handles What the Model Already Knows", equation 21. Each response token
is a test point, each context token a training point whose label is right if it is the same
token. The paper names weighted neighbours but no weights, number of neighbours or order of
clipping and summing; here neighbours weigh alike (Jia et al. 2019, theorem 1) and the rest is
a setting.
"""

from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from ctxaudit import seeds
from ctxaudit.ablation.masks import no_masks
from ctxaudit.interface import BoolArray, FloatArray, TokenDistances

EVIDENCE: Literal["token_distances"] = "token_distances"
SEPARATION: Literal["share"] = "share"


plan_masks = no_masks


class Settings(BaseModel):
    """What the paper leaves open."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    num_neighbours: int = Field(5, ge=1, description="K of the nearest-neighbour utility.")
    clip: Literal["after_sum", "before_sum"] = Field(
        "after_sum",
        description="Clip a context token's value at 0 after or before summing over the response.",
    )
    aggregate: Literal["sum", "mean"] = Field(
        "sum", description="How a context token's values over the response tokens are joined."
    )


def attribute(evidence: TokenDistances, settings: Settings, *, seed: int) -> FloatArray:
    """Sum of each source's positive token values, (S,); NaN for a response of no tokens."""
    if not len(evidence.distances) or not np.isfinite(evidence.distances).all():
        return np.full(evidence.num_sources, np.nan)
    rng = seeds.generator(seed, "token_shapley", evidence.example_id)
    values = knn_shapley(
        evidence.distances, evidence.matches, num_neighbours=settings.num_neighbours, rng=rng
    )
    if settings.clip == "before_sum":
        values = np.maximum(values, 0)
    joined = values.mean(axis=0) if settings.aggregate == "mean" else values.sum(axis=0)
    positive = np.maximum(joined, 0)
    scores = np.zeros(evidence.num_sources)
    np.add.at(scores, evidence.source, positive)
    return scores


def knn_shapley(
    distances: FloatArray, matches: BoolArray, *, num_neighbours: int, rng: np.random.Generator
) -> FloatArray:
    """Exact Shapley values of the K-nearest-neighbour utility, one game per test point.

    The utility of a set of training points is the number of right labels among its K nearest,
    over K. Equal distances are ordered at random, since the utility leaves them open.
    Source: Jia et al. 2019, "Efficient Task-Specific Data Valuation", theorem 1.

    Args:
        distances: (T, N) of each test point to each training point.
        matches: (T, N) whether the training point has the test point's label.
        num_neighbours: K.
        rng: Orders equal distances.

    Returns:
        (T, N) values; each row sums to the utility of all training points.
    """
    num_points = distances.shape[1]
    if not num_points:
        return np.zeros(distances.shape)
    order = np.lexsort((rng.random(distances.shape), distances), axis=1)
    labels = np.take_along_axis(matches, order, axis=1).astype(np.float64) / num_neighbours
    rank = np.arange(1, num_points + 1)
    weight = np.minimum(num_neighbours, rank) / rank
    # Each point differs from its next farther neighbour by a closed term, so sum from the end.
    steps = -np.diff(labels, axis=1, append=0) * weight
    ordered = np.cumsum(steps[:, ::-1], axis=1)[:, ::-1]
    values = np.empty_like(ordered)
    np.put_along_axis(values, order, ordered, axis=1)
    return values
