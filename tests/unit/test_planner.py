import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import array_shapes, arrays

from ctxaudit.ablation.masks import all_masks
from ctxaudit.ablation.planner import merge, plan
from ctxaudit.attribution import contextcite
from ctxaudit.metrics import lds


def test_plan_takes_every_subset_up_to_the_limit():
    np.testing.assert_array_equal(merge(3, [], exact_limit=3), all_masks(3))


@given(arrays(bool, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=6)))
def test_plan_beyond_the_limit_is_the_union_with_empty_and_full(wanted):
    num_sources = wanted.shape[1]
    planned = merge(num_sources, [wanted, wanted[::-1]], exact_limit=0)
    expected = {tuple(mask) for mask in wanted} | {(False,) * num_sources, (True,) * num_sources}
    assert planned.dtype == np.bool_
    assert [tuple(mask) for mask in planned] == sorted(expected)
    assert not planned[0].any()
    assert planned[-1].all()


def test_plan_without_wanted_masks_is_the_empty_and_the_full_one():
    empty = np.zeros((0, 4), dtype=bool)
    assert merge(4, [empty], exact_limit=3).tolist() == [[False] * 4, [True] * 4]


def test_order_of_a_plan_does_not_depend_on_the_order_of_what_is_wanted():
    one, other = np.eye(5, dtype=bool), ~np.eye(5, dtype=bool)
    np.testing.assert_array_equal(
        merge(5, [one, other], exact_limit=2), merge(5, [other, one[::-1]], exact_limit=2)
    )


@pytest.fixture
def long_example(overlap_results):
    (example,) = overlap_results(num_examples=1, num_sources=9).examples
    return example


def test_the_plan_of_an_example_holds_what_each_method_and_metric_asks_for(long_example):
    (masks,) = plan([long_example], {"contextcite": {}}, {"lds": {}}, exact_limit=8, seed=4)
    held = {tuple(mask) for mask in masks}
    assert len(held) == len(masks)
    for plugin in (contextcite, lds):
        asked = plugin.plan_masks(9, plugin.Settings(), seed=4)
        assert {tuple(mask) for mask in asked} <= held


def test_metrics_ask_for_other_subsets_than_methods_draw(long_example):
    alone, both = (
        plan([long_example], {"contextcite": {}}, metrics, exact_limit=8, seed=4)[0]
        for metrics in ({}, {"lds": {"num_masks": 30}})
    )
    assert len(both) > len(alone) + 20


def test_examples_of_a_size_share_their_plan_and_settings_are_not_read_below_the_limit(
    overlap_results,
):
    examples = overlap_results(num_examples=2, num_sources=4).examples
    one, other = plan(examples, {"contextcite": {"alpha": -1}}, {}, exact_limit=4, seed=0)
    np.testing.assert_array_equal(one, all_masks(4))
    np.testing.assert_array_equal(other, all_masks(4))
