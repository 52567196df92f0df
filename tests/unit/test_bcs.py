import dataclasses

import numpy as np
import pytest

from ctxaudit.metrics import bcs
from ctxaudit.metrics.bcs import Settings, components


def conditions(empty, full, removed, only) -> np.ndarray:
    """Ten examples with the given numbers of right answers."""
    return np.array([[i < n for n in (empty, full, removed, only)] for i in range(10)], dtype=float)


def test_components_by_hand():
    found = components(conditions(2, 10, 6, 8))
    assert found.gain == pytest.approx(0.8)
    assert found.util == pytest.approx(6 / 8)
    assert found.rmi == pytest.approx(4 / 8)
    assert found.bcs == pytest.approx(np.sqrt(24) / 8)
    assert found.reason == ""


def test_util_above_1_is_shown_as_it_is():
    assert components(conditions(2, 6, 4, 10)).util == pytest.approx(2)


@pytest.mark.parametrize("full", [2, 1])
def test_no_gain_leaves_the_ratios_undefined(full: int):
    found = components(conditions(2, full, 6, 8))
    assert np.isnan([found.util, found.rmi, found.bcs]).all()
    assert found.gain == pytest.approx((full - 2) / 10)
    assert found.reason == "full-context gain is not positive"


def test_a_negative_part_leaves_the_score_undefined_and_is_shown():
    found = components(conditions(4, 8, 6, 2))
    assert found.util == pytest.approx(-0.5)
    assert found.rmi == pytest.approx(0.5)
    assert np.isnan(found.bcs)
    assert found.reason == "Util or RmI is negative"


def test_rounding_does_not_make_a_part_negative():
    averaged = conditions(3, 10, 10, 3)
    averaged[:, 3] = 0.3 - 1e-17
    averaged[:, 2] = np.nextafter(1, 2)
    found = components(averaged)
    assert (found.util, found.rmi, found.bcs) == (0, 0, 0)


def test_undefined_examples_leave_all_four_accuracies():
    known = conditions(2, 10, 6, 8)
    with_gap = np.vstack([known, [[np.nan] * 4]])
    assert components(with_gap) == components(known)


def test_only_the_decisive_source_gives_a_perfect_score(overlap_results):
    results = overlap_results(num_examples=4)
    answers = []
    for item in results.answers["base"]:
        scores = np.zeros((len(item.masks), 4))
        scores[:, 1] = 1
        scores[item.masks[:, 2], 0] = 2
        answers.append(dataclasses.replace(item, scores=scores))
    right = [
        dataclasses.replace(item, scores=np.array([0.0, 1, 2, 0]))
        for item in results.attributions["base", "first"]
    ]
    wrong = [dataclasses.replace(item, scores=np.array([1.0, 0, -1, 0])) for item in right]
    results = dataclasses.replace(
        results,
        answers={"base": answers},
        attributions={("base", "right"): right, ("base", "wrong"): wrong},
    )
    table = bcs.evaluate(results, Settings(k=[1]), seed=0).set_index(["method", "metric"])
    assert table.loc["right", "value"].to_dict() == {"gain": 1, "util": 1, "rmi": 1, "bcs": 1}
    assert table.loc["wrong", "value"].to_dict() == {"gain": 1, "util": 0, "rmi": 0, "bcs": 0}


def test_examples_without_scores_or_enough_sources_are_counted(overlap_results):
    results = overlap_results(num_examples=5, num_sources=3, methods=("first",))
    results.attributions["base", "first"][0].scores[:] = np.nan
    table = bcs.evaluate(results, Settings(k=[1, 4]), seed=0)
    of_1, of_4 = table[table.parameter == "k=1"], table[table.parameter == "k=4"]
    assert (of_1.num_undefined == 1).all()
    assert (of_4.num_undefined == 5).all()
    missing = "fewer than 4 sources: 4; no scores: 1"
    assert (of_1.reason == "no scores: 1").all()
    assert (of_4.reason == f"no example has a value; {missing}").all()
    assert of_1[of_1.metric == "gain"].value.item() == 1
