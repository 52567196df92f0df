import dataclasses

import numpy as np
import pytest
from scipy.stats import kendalltau

from ctxaudit.ablation.masks import all_masks
from ctxaudit.metrics import lds
from ctxaudit.metrics.lds import Settings, correlation

WEIGHTS = np.array([3.0, 1.1, -2.3, 0.45])


def every(ablations) -> np.ndarray:
    return np.ones(len(ablations.masks), dtype=bool)


def test_the_weights_of_an_additive_game_predict_all_subsets(game):
    ablations = game(lambda mask: mask @ WEIGHTS, 4)
    assert correlation(ablations, WEIGHTS, every(ablations)) == pytest.approx(1)
    assert correlation(ablations, -WEIGHTS, every(ablations)) == pytest.approx(-1)


def test_equal_predictions_are_ties_however_they_round(game):
    scores = np.array([0.1, 0.2, 0.3])
    ablations = game(lambda mask: mask @ [1.0, 2.0, 3.0], 3)
    assert 0.1 + 0.2 != 0.3
    assert correlation(ablations, scores, every(ablations)) == pytest.approx(1)


def test_invariant_under_rising_maps_of_the_values(game):
    plain = game(lambda mask: mask @ WEIGHTS + 2 * mask[0] * mask[1], 4)
    mapped = game(lambda mask: np.exp(mask @ WEIGHTS + 2 * mask[0] * mask[1]), 4)
    scores = np.array([1.0, 2.0, 0.3, 0.2])
    expected = correlation(plain, scores, every(plain))
    assert correlation(mapped, scores, every(mapped)) == pytest.approx(expected)
    assert np.sign(expected) == np.sign(kendalltau(all_masks(4) @ scores, plain.values())[0])


@pytest.mark.parametrize("scores", [np.zeros(4), np.full(4, np.nan)])
def test_constant_or_missing_predictions_are_undefined(game, scores: np.ndarray):
    ablations = game(lambda mask: mask @ WEIGHTS, 4)
    assert np.isnan(correlation(ablations, scores, every(ablations)))


def test_constant_values_and_two_subsets_are_undefined(game):
    flat, single = game(lambda _: -1.0, 4), game(lambda mask: float(mask[0]), 1)
    assert np.isnan(correlation(flat, WEIGHTS, every(flat)))
    assert np.isnan(correlation(single, WEIGHTS[:1], every(single)))


def test_held_out_subsets_are_those_that_the_method_did_not_read(overlap_results, game):
    results = overlap_results(num_examples=1, methods=("first",))
    read = all_masks(4)[:8]
    ablations = game(lambda mask: mask @ WEIGHTS * (-1) ** int(mask[3]), 4, example_id="q0")
    found = [
        dataclasses.replace(a, scores=WEIGHTS, masks=read)
        for a in results.attributions["base", "first"]
    ]
    results = dataclasses.replace(
        results, ablations={"base": [ablations]}, attributions={("base", "first"): found}
    )
    table = lds.evaluate(results, Settings(), seed=0).set_index("parameter")
    assert table.loc["masks=held-out", "value"] == pytest.approx(-1)
    assert table.loc["masks=all", "value"] > -1


def test_the_reasons_of_part_of_the_examples_are_counted(overlap_results):
    results = overlap_results(num_examples=4, num_sources=3, methods=("first",))
    base = results.attributions["base", "first"]
    base[0].scores[:] = 0.0
    base[1].scores[:] = np.nan
    results.ablations["base"][2].logprobs[:] = -1.0
    row = lds.evaluate(results, Settings(), seed=0).set_index(["variant", "parameter"])
    row = row.loc[("base", "masks=all")]
    assert (row["num_examples"], row["num_undefined"]) == (4, 3)
    assert row["reason"] == (
        "no scores: 1; the predictions are constant: 1; the values are constant: 1"
    )


def test_nothing_held_out_has_a_reason(overlap_results):
    results = overlap_results(methods=("first",))
    found = [
        dataclasses.replace(a, masks=all_masks(4)) for a in results.attributions["base", "first"]
    ]
    results = dataclasses.replace(results, attributions={("base", "first"): found})
    table = lds.evaluate(results, Settings(), seed=0).set_index("parameter")
    assert np.isnan(table.loc["masks=held-out", "value"])
    assert "three subsets" in table.loc["masks=held-out", "reason"]
    assert np.isfinite(table.loc["masks=all", "value"])
