import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import array_shapes, arrays

from ctxaudit.ablation.masks import all_masks, plan


@pytest.mark.parametrize("num_sources", range(8))
def test_all_masks_are_every_subset_once_from_empty_to_full(num_sources):
    masks = all_masks(num_sources)
    assert masks.shape == (2**num_sources, num_sources)
    assert len({tuple(mask) for mask in masks}) == 2**num_sources
    assert not masks[0].any()
    assert masks[-1].all()


def test_plan_takes_every_subset_up_to_the_limit():
    np.testing.assert_array_equal(plan(3, [], exact_limit=3), all_masks(3))


@given(arrays(bool, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=6)))
def test_plan_beyond_the_limit_is_the_union_with_empty_and_full(wanted):
    num_sources = wanted.shape[1]
    planned = plan(num_sources, [wanted, wanted[::-1]], exact_limit=0)
    expected = {tuple(mask) for mask in wanted} | {(False,) * num_sources, (True,) * num_sources}
    assert planned.dtype == np.bool_
    assert [tuple(mask) for mask in planned] == sorted(expected)
    assert not planned[0].any()
    assert planned[-1].all()


def test_plan_without_wanted_masks_is_the_empty_and_the_full_one():
    empty = np.zeros((0, 4), dtype=bool)
    assert plan(4, [empty], exact_limit=3).tolist() == [[False] * 4, [True] * 4]


def test_order_of_a_plan_does_not_depend_on_the_order_of_what_is_wanted():
    one, other = np.eye(5, dtype=bool), ~np.eye(5, dtype=bool)
    np.testing.assert_array_equal(
        plan(5, [one, other], exact_limit=2), plan(5, [other, one[::-1]], exact_limit=2)
    )
