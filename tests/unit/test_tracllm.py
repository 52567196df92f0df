import dataclasses

import numpy as np
import pytest

from ctxaudit.attribution import tracllm
from ctxaudit.attribution.tracllm import Settings


def leaf_scores(ablations, w_loo: float = 2.0) -> np.ndarray:
    """max(w LOO, STC) of each source from its definition."""
    n = ablations.num_sources
    empty, full = np.zeros(n, bool), np.ones(n, bool)
    alone = [ablations.value_of(row) - ablations.value_of(empty) for row in np.eye(n, dtype=bool)]
    removed = [ablations.value_of(full) - ablations.value_of(~row) for row in np.eye(n, dtype=bool)]
    return np.maximum(w_loo * np.array(removed), alone)


@pytest.mark.parametrize("num_sources", [1, 2, 3, 5, 6])
def test_up_to_six_sources_and_five_kept_only_leaves_are_scored(random_ablations, num_sources):
    ablations = random_ablations(num_sources)
    scores = tracllm.attribute(ablations, Settings(), seed=0)
    np.testing.assert_allclose(scores, leaf_scores(ablations))


def test_sources_of_a_pruned_node_keep_its_score(game):
    weights = np.array([5.0, 4.0, 3.0, 2.0, 1.0, 1.0, 0.5, 0.5])
    ablations = game(lambda mask: mask @ weights, 8)
    scores = tracllm.attribute(ablations, Settings(top_k=1), seed=0)
    # Halves 14 and 3, then 9 and 5, then 5 and 4; leave-one-out weighs twice in an additive game.
    np.testing.assert_allclose(scores, 2 * np.array([5, 4, 5, 5, 3, 3, 3, 3]))


def test_no_source_is_without_a_score_and_few_ablations_are_read(random_ablations):
    whole = random_ablations(9)
    planned = tracllm.plan_masks(9, Settings(top_k=2), seed=0)
    rows = [(whole.masks == mask).all(axis=1).argmax() for mask in planned]
    part = dataclasses.replace(whole, masks=whole.masks[rows], logprobs=whole.logprobs[rows])
    scores = tracllm.attribute(part, Settings(top_k=2), seed=0)
    assert np.isfinite(scores).all()
    np.testing.assert_array_equal(scores, tracllm.attribute(whole, Settings(top_k=2), seed=0))


@pytest.mark.parametrize("num_sources", [1, 2, 7, 16])
def test_plans_ends_singles_and_leave_one_outs_in_distinct_rows(num_sources: int):
    masks = tracllm.plan_masks(num_sources, Settings(), seed=0)
    rows = {tuple(mask) for mask in masks}
    eye = np.eye(num_sources, dtype=bool)
    assert {tuple(row) for row in [*eye, *~eye]} <= rows
    assert len(rows) == len(masks) <= 4 * num_sources


def test_equal_nodes_are_not_pruned_by_position(game):
    ablations = [
        game(lambda mask: float(mask.sum()), 4, example_id=f"q{number}") for number in range(40)
    ]
    scores = [tracllm.attribute(item, Settings(top_k=1), seed=0) for item in ablations]
    first_half_lives = [row[0] < row[2] or row[1] < row[3] for row in scores]
    assert 5 < sum(first_half_lives) < 35
