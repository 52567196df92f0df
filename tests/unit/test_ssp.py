import dataclasses

import numpy as np
import pytest

from ctxaudit.metrics import ssp


def with_labels(results, labels, scores):
    replaced = [
        dataclasses.replace(item, labels=tuple(labels.split()), scores=np.array(scores))
        for item in results.attributions["tuned", "first"]
    ]
    return dataclasses.replace(results, attributions={("tuned", "first"): replaced})


def rows(results):
    return ssp.evaluate(results, ssp.Settings(), seed=0).set_index("metric")


def test_share_of_right_labels_and_auc_by_hand(overlap_results):
    # True provenances of the builder: icl iw icl iw.
    results = with_labels(overlap_results(), "icl icl icl iw", [3.0, 2.0, 1.0, 0.0])
    table = rows(results)
    assert table.loc["ssp", "value"] == pytest.approx(3 / 4)
    assert table.loc["auc", "value"] == pytest.approx(3 / 4)
    assert (table.num_examples == 5).all()


def test_only_questions_that_the_tuned_model_alone_knows_enter(overlap_results):
    results = with_labels(overlap_results(), "icl iw icl iw", [1.0, 0.0, 1.0, 0.0])
    answers = {variant: list(items) for variant, items in results.answers.items()}
    answers["tuned"][0] = results.answers["base"][0]
    answers["base"][1] = results.answers["tuned"][1]
    table = rows(dataclasses.replace(results, answers=answers))
    assert (table.num_examples == 3).all()


def test_no_such_question_has_a_reason(overlap_results):
    results = with_labels(overlap_results(), "icl iw icl iw", [1.0, 0.0, 1.0, 0.0])
    answers = {"base": results.answers["base"], "tuned": results.answers["base"]}
    table = rows(dataclasses.replace(results, answers=answers))
    assert table["value"].isna().all()
    assert (table.reason == "no question is known to the tuned model only").all()
    assert (table.num_examples == 0).all()


def test_questions_without_labels_are_counted(overlap_results):
    results = overlap_results(methods=("first",))
    found = list(results.attributions["tuned", "first"])
    found[2] = dataclasses.replace(found[2], labels=(), scores=np.full(4, np.nan))
    attributions = {("tuned", "first"): found}
    table = rows(dataclasses.replace(results, attributions=attributions))
    assert (table.num_undefined == 1).all()
    assert table["value"].notna().all()
