"""What every metric of the overlap study must hold to."""

import dataclasses
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from pydantic import BaseModel, ValidationError

from ctxaudit import plugins
from ctxaudit.interface import METRIC_COLUMNS, Metric, OverlapResults

METRICS = plugins.available("metrics")

each = pytest.mark.parametrize("name", METRICS)


def test_finding_them_imports_no_heavy_library():
    code = (
        "import sys; from ctxaudit import plugins; "
        "[plugins.load('metrics', name) for name in plugins.available('metrics')]; "
        "sys.exit(any(m in sys.modules for m in ('sklearn', 'scipy', 'torch', 'transformers')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def evaluate(name: str, results: OverlapResults, seed: int = 3) -> pd.DataFrame:
    metric = plugins.load("metrics", name)
    return metric.evaluate(results, metric.Settings(), seed=seed)


def check(table: pd.DataFrame) -> None:
    assert tuple(table.columns) == METRIC_COLUMNS
    undefined = table["value"].isna() | (table["num_undefined"] > 0)
    assert (undefined == (table["reason"] != "")).all()
    assert (table["num_undefined"] <= table["num_examples"]).all()
    assert (table["num_undefined"] >= 0).all()
    assert set(table["variant"]) <= {"base", "tuned", "both"}
    assert not table.duplicated(["metric", "method", "variant", "parameter"]).any()


@each
def test_is_a_metric(name: str):
    metric = plugins.load("metrics", name)
    assert isinstance(metric, Metric)
    assert issubclass(metric.Settings, BaseModel)
    assert isinstance(metric.HIGHER_IS_BETTER, bool)
    assert all(field.description for field in metric.Settings.model_fields.values())


@each
def test_settings_are_frozen_and_refuse_unknown_keys(name: str):
    settings = plugins.load("metrics", name).Settings
    assert settings.model_config["frozen"]
    with pytest.raises(ValidationError):
        settings.model_validate({"no_such_setting": 1})


@each
def test_a_row_for_every_method_with_reasons_where_undefined(name: str, overlap_results):
    table = evaluate(name, overlap_results(num_examples=6, num_sources=6))
    check(table)
    assert set(table["method"]) == {"first", "second"}
    assert table["value"].notna().any()


@each
def test_the_same_seed_gives_the_same_table(name: str, overlap_results):
    results = overlap_results()
    pd.testing.assert_frame_equal(evaluate(name, results), evaluate(name, results))


@each
@pytest.mark.parametrize("num_examples", [0, 1])
@pytest.mark.parametrize("num_sources", [1, 2])
def test_tiny_studies_give_rows(name: str, overlap_results, num_examples: int, num_sources: int):
    table = evaluate(name, overlap_results(num_examples=num_examples, num_sources=num_sources))
    check(table)
    assert len(table)


@each
def test_an_example_without_scores_is_counted_for_its_method_only(name: str, overlap_results):
    results = overlap_results(num_examples=6, num_sources=6)
    spoiled = dict(results.attributions)
    for variant in ("base", "tuned"):
        nothing = [
            dataclasses.replace(item, scores=np.full(6, np.nan), labels=(), reason="why")
            for item in spoiled[variant, "first"]
        ]
        spoiled[variant, "first"] = nothing
    table = evaluate(name, dataclasses.replace(results, attributions=spoiled))
    check(table)
    assert table.loc[table["method"] == "first", "reason"].str.contains("why: ").any()
    first, second = table[table["method"] == "first"], table[table["method"] == "second"]
    assert first["value"].isna().all()
    assert (first["num_undefined"] == first["num_examples"]).all()
    before = evaluate(name, results)
    pd.testing.assert_frame_equal(
        second.reset_index(drop=True),
        before[before["method"] == "second"].reset_index(drop=True),
    )


@each
def test_another_order_of_the_examples_gives_the_same_table(name: str, overlap_results):
    results = overlap_results(num_examples=6)
    for items in results.attributions.values():
        for item in items:
            item.scores[:] = np.round(item.scores)
    order = [3, 0, 5, 1, 4, 2]

    def shuffled(table):
        return {key: [items[i] for i in order] for key, items in table.items()}

    other = OverlapResults(
        examples=[results.examples[i] for i in order],
        ablations=shuffled(results.ablations),
        answers=shuffled(results.answers),
        attributions=shuffled(results.attributions),
    )
    pd.testing.assert_frame_equal(evaluate(name, other), evaluate(name, results))
