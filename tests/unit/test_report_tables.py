import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ctxaudit import plugins
from ctxaudit.report.frames import COLUMNS

NAN = float("nan")


def build(name: str, **rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    """The table of these rows; of what else it reads there are none."""
    module = plugins.load("report.tables", name)
    return module.build(
        {kind: pd.DataFrame(rows.get(kind, []), columns=COLUMNS[kind]) for kind in module.READS}
    )


CANDIDATES = [
    *(("demo", "retain", "q0", 0.5, 8.0, "") for _ in range(5)),
    ("demo", "forget", "q0", 0.5, NAN, "refusal"),
    ("demo", "forget", "q1", 0.5, NAN, "refusal"),
    ("demo", "forget", "q1", 0.5, NAN, "length"),
    ("other", "forget", "q1", 0.5, NAN, "error"),
]
EXAMPLES = [
    ("demo", "q0", 4, "yes", "", "valid"),
    ("demo", "q1", 4, "no", "facts lost", "invalid"),
    ("demo", "q2", 4, "no", "not asked for", ""),
]


def metric(name: str, variant: str, parameter: str, value: float, n: int, undefined: int = 0):
    reason = "made undefined" if math.isnan(value) else f"no scores: {undefined}"
    reason = reason if math.isnan(value) or undefined else ""
    return ("demo", "tiny", name, "loo", variant, parameter, value, reason, n, undefined)


def test_recall_by_hand():
    answers = {
        ("base", "none"): [0, 0, 1, NAN],
        ("base", "full"): [1, 1, 1, 0],
        ("tuned", "none"): [1, 0, 1, 1],
        ("tuned", "full"): [1, 1, 0, 0],
    }
    rows = [
        (
            *("demo", "tiny", variant, context, f"q{number}", correct),
            "not scored" if math.isnan(correct) else "",
        )
        for (variant, context), outcomes in answers.items()
        for number, correct in enumerate(outcomes)
    ]
    row = build("overlap_recall", recall=rows).iloc[0]
    assert row["base_without"] == pytest.approx(1 / 3)
    assert row["base_with"] == 0.75
    assert row["tuned_without"] == 0.75
    assert row["tuned_with"] == 0.5
    assert row["gap"] == pytest.approx(0.75 - 1 / 3)
    assert (row["learned"], row["n"], row["undefined"]) == (1, 4, 1)
    no_replies = "judge_faulty_rate, generator_faulty_rate (no replies)"
    assert row["reasons"] == f"not scored: 1; {no_replies}"


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("overlap_recall", {"recall": [("demo", "tiny", "base", "full", "q0", 1.0, "")]}),
        ("overlap_attribution", {"metrics": [("cac", "both", "rho=0.5", 0.4, 2)]}),
        ("overlap_likelihood", {"metrics": [("drop_at_k", "base", "k=1", 0.4, 2)]}),
        ("overlap_separation", {"metrics": [("ssp", "tuned", "", 0.4, 2)]}),
        ("overlap_contexts", {}),
    ],
)
def test_what_rests_on_contexts_counts_the_replies_that_they_are_made_of(name: str, rows: Any):
    if "metrics" in rows:
        rows = {"metrics": [metric(*row) for row in rows["metrics"]]}
    table = build(name, **rows, examples=EXAMPLES, candidates=CANDIDATES)
    row = table[table["dataset"] == "demo"].iloc[0]
    assert (row["judge_replies"], row["judge_faulty"], row["judge_faulty_rate"]) == (8, 3, 3 / 8)
    assert row["judge_outcomes"] == "refusal: 2 (25 %); length: 1 (12.5 %)"
    # One of the three contexts was not to be smoothed.
    assert (row["generator_replies"], row["generator_faulty"]) == (2, 1)
    assert row["generator_faulty_rate"] == 0.5
    assert row["generator_outcomes"] == "invalid: 1 (50 %)"


def test_attribution_puts_each_value_in_the_row_of_its_parameters():
    rows = [
        metric("cac", "both", "rho=0.5", 0.4, 20, 2),
        metric("cac", "both", "rho=0.9", 0.6, 20, 2),
        metric("bcs", "base", "k=1", 0.7, 20),
        metric("bcs", "base", "k=2", NAN, 20),
        metric("bcs", "tuned", "k=1", 0.99, 20),
        metric("aps", "both", "k=1,rho=0.5", 0.51, 20, 2),
        metric("aps", "both", "k=1, rho=0.9", 0.65, 20, 2),
        metric("drop_at_k", "base", "k=7", 3.0, 20),
    ]
    table = build("overlap_attribution", metrics=rows).set_index(["k", "rho"])
    assert list(table.index) == [(1, 0.5), (1, 0.9), (2, 0.5), (2, 0.9)]
    assert table["cac"].tolist() == [0.4, 0.6, 0.4, 0.6]
    assert table["bcs"].tolist()[:2] == [0.7, 0.7]
    assert table["aps"].tolist()[:2] == [0.51, 0.65]
    assert table["bcs"].isna().tolist() == [False, False, True, True]
    assert table.loc[(1, 0.5), "reasons"].startswith("cac, aps (no scores: 2); ")
    assert "; bcs (made undefined)" in table.loc[(2, 0.5), "reasons"]
    assert set(table["n"]) == {20}
    assert set(table["undefined"]) == {2}


def test_likelihood_has_a_column_per_k_in_numeric_order():
    rows = [metric("drop_at_k", "base", f"k={k}", k / 10, 5) for k in (10, 2)]
    rows += [metric("lds", "base", "masks=all", 0.8, 5)]
    rows += [metric("lds", "base", "masks=held-out", NAN, 5, 5)]
    table = build("overlap_likelihood", metrics=rows, examples=EXAMPLES, candidates=CANDIDATES)
    assert list(table.columns[4:8]) == ["drop_2", "drop_10", "lds_held_out", "lds_all"]
    row = table.iloc[0]
    assert (row["drop_2"], row["drop_10"], row["lds_all"]) == (0.2, 1.0, 0.8)
    assert math.isnan(row["lds_held_out"])
    assert (row["n"], row["undefined"]) == (5, 5)
    assert row["reasons"] == "lds_held_out (made undefined)"


def test_a_mean_over_part_of_the_examples_says_why_the_others_are_out():
    rows = [metric("drop_at_k", "base", "k=1", 1.5, 24)]
    rows += [
        metric("lds", "base", f"masks={m}", 0.5, 24, n) for m, n in (("all", 0), ("held-out", 8))
    ]
    replies = {"examples": EXAMPLES, "candidates": CANDIDATES}
    row = build("overlap_likelihood", metrics=rows, **replies).iloc[0]
    assert (row["lds_held_out"], row["n"], row["undefined"]) == (0.5, 24, 8)
    assert row["reasons"] == "lds_held_out (no scores: 8)"


def test_separation_reads_the_tuned_model():
    rows = [metric("ssp", "tuned", "", 0.52, 9), metric("auc", "tuned", "", 0.61, 9, 1)]
    row = build("overlap_separation", metrics=rows).iloc[0]
    assert (row["ssp"], row["auc"], row["n"], row["undefined"]) == (0.52, 0.61, 9, 1)


def test_contexts_count_faults_and_unparsable_judgements():
    table = build(
        "overlap_contexts",
        examples=[
            ("demo", "q0", 4, "yes", "", "valid"),
            ("demo", "q1", 6, "no", "markers lost", "unparsable"),
            ("demo", "q2", 4, "no", "markers lost", "unparsable"),
            ("demo", "q3", 4, "", "", ""),
        ],
        candidates=[
            ("demo", "retain", "q0", 0.5, 8.0, ""),
            ("demo", "retain", "q1", 0.7, NAN, "unparsable"),
        ],
    ).set_index("measure")
    assert table.loc["segments per context", "value"] == 4.5
    smoothed = table.loc["share smoothed"]
    assert smoothed["value"] == pytest.approx(1 / 3)
    assert (smoothed["n"], smoothed["undefined"]) == (4, 1)
    assert smoothed["reasons"] == "markers lost: 2; not recorded: 1"
    relevance = table.loc["relevance, retain corpus"]
    assert (relevance["value"], relevance["n"], relevance["undefined"]) == (8.0, 2, 1)
    assert relevance["reasons"] == "unparsable: 1"


def test_responses_count_no_answer_as_an_outcome():
    def row(steering: str, outcome: str, lenient: int, finish: str):
        reason = "cut before an answer" if outcome == "unanswered" else ""
        judged = (outcome, int(outcome == "correct"), lenient, "last line")
        return ("tiny", steering, "e", "temporal", *judged, finish, 9, reason)

    table = build(
        "conflict_responses",
        conflict_accuracy=[
            row("all_tokens", "wrong", 0, "stop"),
            row("none", "correct", 1, "stop"),
            row("none", "unanswered", 1, "length"),
            row("none", "unanswered", 0, "length"),
            row("none", "wrong", 0, "length"),
            row("none", "unanswered", 0, "refusal"),
            row("none", "unanswered", 0, "stop"),
        ],
    )
    assert table["steering"].tolist() == ["none", "all_tokens"]
    first = table.iloc[0]
    assert (first["strict"], first["lenient"]) == pytest.approx((1 / 6, 2 / 6))
    assert (first["unanswered"], first["n"], first["undefined"]) == (4, 6, 0)
    assert first["reasons"] == "cut before an answer: 4"
    assert first["strict_low"] < 1 / 6 < first["strict_high"]
    assert (first["model_replies"], first["model_faulty"]) == (6, 5)
    assert first["model_faulty_rate"] == pytest.approx(5 / 6)
    rates = "length: 3 (50 %); refusal: 1 (16.7 %); unparsable: 1 (16.7 %)"
    assert first["model_outcomes"] == rates
    assert (table.iloc[1]["model_faulty"], table.iloc[1]["model_outcomes"]) == (0, "")


def test_balance_leaves_the_undefined_out_of_its_mean_and_counts_them():
    def row(value: float, gain: float, finish: str = "stop", reason: str = ""):
        found = ([1.0, 0.0], [1.0, 0.0], value, gain, finish, reason)
        return ("tiny", "none", "e", "ambiguity", 2, *found)

    rows = [
        row(0.2, 1.0),
        row(0.4, 2.0, "length"),
        row(NAN, 6.0, reason="no positive contribution"),
        row(NAN, NAN, "refusal", "refused"),
    ]
    found = build("conflict_balance", balance=rows).iloc[0]
    assert found["balance"] == pytest.approx(0.3)
    assert 0.2 <= found["balance_low"] < found["balance_high"] <= 0.4
    assert found["gain"] == 3.0
    assert (found["n"], found["undefined"]) == (4, 2)
    assert found["reasons"] == "no positive contribution: 1; refused: 1"
    assert (found["model_faulty"], found["model_faulty_rate"]) == (2, 0.5)
    assert found["model_outcomes"] == "length: 1 (25 %); refusal: 1 (25 %)"


def test_probes_name_the_best_layer_and_what_length_alone_gives():
    aucs = {-1: 0.95, 0: 0.5, 1: 0.8, 2: 0.8, 3: NAN}
    rows = [
        ("tiny", "temporal", layer, auc, 0.1, 12, 5, layer != 1, "few" if math.isnan(auc) else "")
        for layer, auc in aucs.items()
    ]
    found = build("conflict_probes", probes=rows).iloc[0]
    assert (found["best_layer"], found["best_auc"], found["best_auc_sd"]) == (1, 0.8, 0.1)
    assert (found["layer_0_auc"], found["length_auc"]) == (0.5, 0.95)
    assert (found["unconverged"], found["n"], found["undefined"]) == (1, 12, 1)
    assert found["reasons"] == "few: 1"


def test_probes_without_any_value_have_no_best_layer():
    rows = [("tiny", "temporal", n, np.nan, np.nan, 3, 0, False, "few") for n in (-1, 0, 1)]
    found = build("conflict_probes", probes=rows).iloc[0]
    assert found["best_layer"] is pd.NA
    assert math.isnan(found["best_auc"])
    assert (found["n"], found["undefined"], found["unconverged"]) == (3, 3, 0)
