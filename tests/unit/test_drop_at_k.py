import dataclasses

import numpy as np
import pytest

from ctxaudit import plugins
from ctxaudit.attribution import apply
from ctxaudit.metrics import drop_at_k
from ctxaudit.metrics.drop_at_k import Settings


def test_drop_of_an_additive_game_is_the_sum_of_the_best(overlap_results, game):
    weights = np.array([3.0, 1.0, 2.0, -1.0])
    results = overlap_results(methods=("first",))
    games = [game(lambda mask: mask @ weights, 4, example_id=e.id) for e in results.examples]
    found = [dataclasses.replace(a, scores=weights) for a in results.attributions["base", "first"]]
    results = dataclasses.replace(
        results, ablations={"base": games}, attributions={("base", "first"): found}
    )
    table = drop_at_k.evaluate(results, Settings(k=[1, 3, 5]), seed=0).set_index("parameter")
    assert table.loc["k=1", "value"] == pytest.approx(3)
    assert table.loc["k=3", "value"] == pytest.approx(6)
    assert np.isnan(table.loc["k=5", "value"])
    assert table.loc["k=5", "num_undefined"] == 5
    assert "5 sources" in table.loc["k=5", "reason"]


@pytest.mark.parametrize("num_sources", [1, 2, 4, 7])
def test_leave_one_out_drops_most_at_1_of_all_methods(overlap_results, num_sources: int):
    results = overlap_results(num_examples=6, num_sources=num_sources, seed=num_sources)
    names = [
        name
        for name in plugins.available("attribution")
        if plugins.load("attribution", name).EVIDENCE == "ablations"
    ]
    attributions = {("base", "random"): results.attributions["base", "first"]}
    for name in names:
        attributions["base", name] = apply.attribute(
            name, results.ablations["base"], settings={}, p_empty=[0.5] * 6, seed=0
        )
    results = dataclasses.replace(results, attributions=attributions)
    found = {
        method: drop_at_k.drops(results, "base", method, 1, num_tie_draws=20, seed=0)
        for method in results.methods
    }
    for drops in found.values():
        assert (found["attribot"] >= drops - 1e-9).all()
