from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ctxaudit.config.root import Config, load
from ctxaudit.llm.ledger import Totals
from ctxaudit.planning import bill, bill_text, calls, workload
from tests.unit.planned_toy import toy

PAPER = Path(__file__).parents[2] / "config/paper.yaml"
NOWHERE = calls.Artifacts(
    questions="none/{dataset}",
    candidates="none/{dataset}/{corpus}",
    contexts="none/{dataset}",
    instances="none/{conflict}",
)
PRICE = {"input": 2.0, "output": 8.0, "batch_discount": 0.5}
PRICED = {"llm": {"prices": {"as_of": "2026-01-02", "models": {"remote": PRICE}}}}
ENTRY = {"kind": "endpoint", "model": "m", "allow_alias": True}
ALL_REMOTE = {
    "overlap__reranking__judge": "remote",
    "overlap__smoothing__generator": "remote",
    "conflict__generation__engines": {"local": "remote"},
}

# Four characters are a token. At worst a byte is one, those of the role "user" too, and the message
# and the reply after it take 16 more each.
BY_HAND = {
    # stage: (calls, tokens in and out of one call, the same at worst)
    # A question of 40 characters, an answer of 16 and a passage of 160 with two blanks; a grade.
    "rerank": (20, (55, 2), (218 + 4 + 32, 16)),
    # Two segments of 160 characters with 13 of markers each, two line breaks between them; the
    # limit is 1.5 tokens for three characters, and the assumption leaves the 1.5 out.
    "smooth": (5, (87, 116), (348 + 4 + 32, 174)),
    # Two pieces of 24 characters and a question of 40; a response of 3 tokens, at most 7.
    "responses": (10, (22, 3), (88 + 4 + 32, 7)),
}


def remote_toy(folder: Path, **changes: Any) -> Config:
    """The toy project with prompts that show what they are given."""
    paths = {}
    for stage, shown in (
        ("reranking", "{question} {answer} {passage}"),
        ("smoothing", "{segments}"),
    ):
        path = folder / f"{stage}.yaml"
        path.write_text(f'user: "{shown}"', encoding="utf-8")
        paths[f"overlap__{stage}__prompt"] = str(path)
    return toy(folder, **{**paths, **PRICED, **ALL_REMOTE, **changes})


def plan(config: Config, folder: Path) -> pd.DataFrame:
    load = workload.measure(config)
    parts = calls.plan(config, load, NOWHERE, store=folder / "store", seed=1)
    return bill.bill(parts, config)


def dollars(num: int, tokens: tuple[int, int], price: dict[str, float] = PRICE) -> float:
    return num * (tokens[0] * price["input"] + tokens[1] * price["output"]) / 1e6


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_calls_tokens_and_dollars_are_those_computed_by_hand(tmp_path: Path):
    table = plan(remote_toy(tmp_path), tmp_path).set_index("stage")
    assert list(table.index) == list(BY_HAND)
    for stage, (num, likely, worst) in BY_HAND.items():
        row = table.loc[stage]
        assert (row["calls"], row["to_ask"]) == (num, num)
        assert (row["tokens_in"], row["tokens_out"]) == (num * likely[0], num * likely[1])
        assert row["low_usd"] == pytest.approx(dollars(num, likely))
        assert row["high_usd"] == pytest.approx(dollars(num, worst))
        assert row["reason"] == ""
    assert table["stored"].isna().all()


def test_batches_are_reckoned_at_their_discount(tmp_path: Path):
    batched = {**ENTRY, "traffic": {"batch": {"enabled": True}}}
    config = remote_toy(tmp_path, models__remote=batched)
    table, plain = plan(config, tmp_path), plan(remote_toy(tmp_path), tmp_path)
    for column in ("low_usd", "high_usd"):
        assert table[column].tolist() == pytest.approx((0.5 * plain[column]).tolist())
    assert "remote: in batches, 50 % off" in bill_text.show(table, config, None)


def test_a_schema_is_read_and_answered_in_json(tmp_path: Path):
    config = remote_toy(tmp_path, models__remote={**ENTRY, "structured_output": "json_schema"})
    table = plan(config, tmp_path).set_index("stage")
    assert table.loc["rerank", "tokens_out"] == 20 * 8
    assert table.loc["rerank", "tokens_in"] > 20 * 55
    assert table.loc["smooth", "tokens_in"] == 5 * 87


def test_contexts_beyond_the_number_to_smooth_cost_nothing(tmp_path: Path):
    for limit, expected in ((2, 2), (0, 0), (100, 5)):
        config = remote_toy(tmp_path, overlap__smoothing__num_examples=limit)
        assert plan(config, tmp_path).set_index("stage").loc["smooth", "calls"] == expected


def test_an_engine_that_two_models_share_is_asked_once(tmp_path: Path):
    models = {
        "models__second": {"kind": "folder", "path": "y"},
        "conflict__target_models": ["local", "second"],
        "conflict__generation__engines": {"local": "remote", "second": "remote"},
    }
    table = plan(remote_toy(tmp_path, **models), tmp_path).set_index("stage")
    assert table.loc["responses", "calls"] == 10


def test_a_model_without_a_price_has_no_dollars_and_is_named(tmp_path: Path):
    config = remote_toy(
        tmp_path, models__other=ENTRY, overlap__smoothing__generator="other", **PRICED
    )
    table = plan(config, tmp_path)
    by_stage = table.set_index("stage")
    assert by_stage.loc["smooth", ["low_usd", "high_usd"]].isna().all()
    assert by_stage.loc["smooth", "reason"] == "llm.prices.models.other is not set"
    assert by_stage.loc["rerank", "low_usd"] > 0
    shown = bill_text.show(table, config, None)
    assert "other: price not known: llm.prices.models.other is not set" in shown
    assert "total: 35 calls, 35 to ask, 0.00 to 0.02 dollars, without other" in shown


def test_without_any_price_no_sum_is_guessed(tmp_path: Path):
    config = remote_toy(tmp_path, llm={})
    shown = bill_text.show(plan(config, tmp_path), config, None)
    assert "total: 35 calls, 35 to ask, dollars not known" in shown
    assert "prices:" not in shown


def test_shares_date_total_and_budget_are_shown(tmp_path: Path):
    llm = {**PRICED["llm"], "budget_usd": 40}
    config = remote_toy(tmp_path, llm=llm)
    table = pd.DataFrame(
        [
            ("overlap", "rerank", "remote", 3000, 2999.0, 1, 55, 2, 1.5, 2.25, ""),
            ("overlap", "smooth", "remote", 5, float("nan"), 5, 435, 580, 3.0, 4.0, ""),
        ],
        columns=[
            *("study", "stage", "model", "calls", "stored", "to_ask", "tokens_in", "tokens_out"),
            *("low_usd", "high_usd", "reason"),
        ],
    )
    account = Totals(spent=12.5, reserved=0.25, calls={})
    lines = bill_text.show(table, config, account).splitlines()
    assert lines[1].split() == [
        "overlap",
        "rerank",
        "remote",
        "3,000",
        "2,999",
        "(99",
        "%)",
        "55",
        "2",
        "1.50",
        "2.25",
    ]
    assert lines[2].split() == [
        "overlap",
        "smooth",
        "remote",
        "5",
        "not",
        "known",
        "yet",
        "435",
        "580",
        "3.00",
        "4.00",
    ]
    assert "total: 3,005 calls, 6 to ask, 4.50 to 6.25 dollars" in lines
    spent = "so far 12.50 spent, 0.25 reserved"
    assert f"budget: 40.00 dollars (llm.budget_usd); {spent}" in lines
    assert "prices: of 2026-01-02 (llm.prices)" in lines


def test_without_endpoints_there_is_nothing_to_pay(tmp_path: Path):
    config = toy(tmp_path)
    assert "No stage" in bill_text.show(plan(config, tmp_path), config, None)


def test_the_papers_calls_are_planned_without_its_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(PAPER.parents[1])
    config = load(PAPER)
    table = plan(config, tmp_path).set_index("stage")
    # 1987 questions, ten candidates of each of two corpora.
    assert table.loc["rerank", "calls"] == 39_740
    assert table.loc["smooth", "calls"] == 1_987
    assert (table["low_usd"] < table["high_usd"]).all()
