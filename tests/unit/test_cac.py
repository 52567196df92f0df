import dataclasses

import numpy as np
import pytest

from ctxaudit.metrics import aps, bcs, cac
from ctxaudit.metrics.ranking import rank, rbo, rbo_of_chance


def with_scores(results, base, tuned):
    def replaced(variant, scores):
        return [
            dataclasses.replace(item, scores=np.array(scores, dtype=float))
            for item in results.attributions[variant, "first"]
        ]

    attributions = {("base", "first"): replaced("base", base)}
    attributions["tuned", "first"] = replaced("tuned", tuned)
    return dataclasses.replace(results, attributions=attributions)


def value(table, metric: str) -> float:
    return table.loc[table.metric == metric, "value"].item()


def test_equal_orders_give_1_whatever_the_scores(overlap_results):
    results = with_scores(overlap_results(), [4, 3, 2, 1], [0.4, 0.3, 0.2, -7])
    table = cac.evaluate(results, cac.Settings(), seed=0)
    assert value(table, "cac") == pytest.approx(1)
    assert value(table, "cac_chance") == pytest.approx(rbo_of_chance(4, 0.5))
    assert set(table.variant) == {"both"}


def test_changed_orders_give_their_rbo(overlap_results):
    results = with_scores(overlap_results(), [4, 3, 2, 1], [1, 4, 3, 2])
    orders = [rank(np.array(s), np.random.default_rng(0)) for s in ([4, 3, 2, 1], [1, 4, 3, 2])]
    table = cac.evaluate(results, cac.Settings(rho=[0.8]), seed=0)
    assert value(table, "cac") == pytest.approx(rbo(*orders, 0.8))


def test_scores_that_are_all_equal_are_at_chance(overlap_results):
    results = with_scores(overlap_results(num_examples=100), [0, 0, 0, 0], [0, 0, 0, 0])
    table = cac.evaluate(results, cac.Settings(), seed=0)
    # 2,000 draws with a standard deviation below 0.35: five standard errors.
    assert value(table, "cac") == pytest.approx(value(table, "cac_chance"), abs=0.04)


def test_undefined_examples_leave_both_rows(overlap_results):
    results = overlap_results(num_examples=3, methods=("first",))
    results.attributions["tuned", "first"][1].scores[:] = np.nan
    table = cac.evaluate(results, cac.Settings(), seed=0)
    assert (table.num_examples == 3).all()
    assert (table.num_undefined == 1).all()


def test_preservation_is_the_harmonic_mean_of_the_two_tables(overlap_results):
    results = overlap_results(num_examples=12)
    joint = aps.evaluate(results, aps.Settings(k=[1, 2], rho=[0.5]), seed=7).set_index(
        ["method", "parameter"]
    )
    score = bcs.evaluate(results, bcs.Settings(k=[1, 2]), seed=7)
    score = score[score.metric == "bcs"].set_index(["method", "parameter"])
    agreement = cac.evaluate(results, cac.Settings(), seed=7).set_index(["method", "metric"])
    for method in results.methods:
        for k in (1, 2):
            first = score.loc[(method, f"k={k}"), "value"]
            second = agreement.loc[(method, "cac"), "value"]
            row = joint.loc[(method, f"k={k},rho=0.5")]
            assert row["value"] == pytest.approx(2 / (1 / first + 1 / second), nan_ok=True)
            assert row["reason"] == score.loc[(method, f"k={k}"), "reason"]


def test_harmonic_mean_with_zeros():
    assert aps.harmonic_mean(0, 0.5) == 0
    assert aps.harmonic_mean(0, 0) == 0
    assert np.isnan(aps.harmonic_mean(float("nan"), 0.5))
