import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ctxaudit.config.overlap import Chunking
from ctxaudit.config.root import load
from ctxaudit.errors import UserError
from ctxaudit.planning import plan, workload
from tests.unit.planned_toy import toy

# Hand-computed from the sizes in `toy`: two sources of 40 tokens, a query of 10, four options of 4.
EXPECTED = {
    # stage: (sequences, tokens, shared_tokens, generated_tokens)
    # 6 + 1 passages of 240 + 40 tokens; 5 queries of 10 + 4.
    "embed": (12, 350, 350, 0),
    # 20 candidates of 40 + 14 tokens after 7 of instruction, 11 grades of 2 tokens each.
    "rerank": (220, 13_860, 1_660, 0),
    # 5 prompts of 80 + 7; 1.5 times 80 new tokens each.
    "smooth": (5, 435, 435, 600),
    # 2 documents of 100 tokens, twice, in blocks of 50.
    "finetune": (8, 400, 400, 0),
    # 10 contexts; alone 4 options x (4 x 15 + 4 x 40), shared 3 x 40 + 4 x (10 + 4 x 5).
    "answer and ablate": (160, 8_800, 2_400, 0),
    # 10 full contexts of 80 + 10 with a response of 5.
    "token distances": (10, 950, 950, 0),
    # 20 instances and their twins: 2 pieces of 6 and a query of 10.
    "activations": (40, 880, 880, 0),
    # A fifth of 40 pieces, each with the query.
    "single activations": (8, 128, 128, 0),
    # 5 of each type; 7 new tokens.
    "responses": (10, 220, 220, 70),
    "steered responses": (20, 440, 440, 140),
    # 15 responses of 3 tokens; alone 4 x 13 + 4 x 6, shared 3 x 6 + 4 x 13.
    "balance": (60, 1_140, 1_050, 0),
}


def row(table: pd.DataFrame, stage: str) -> Any:
    (found,) = table[table["stage"] == stage].itertuples()
    return found


def test_every_stage_of_a_toy_project_has_the_numbers_computed_by_hand(tmp_path: Path):
    table = plan.plan(toy(tmp_path))
    counts = ["sequences", "tokens", "shared_tokens", "generated_tokens"]
    found = {stage: tuple(row) for stage, *row in table[["stage", *counts]].to_numpy()}
    assert found == EXPECTED


def test_hours_follow_from_the_speeds_and_training_costs_three_passes(tmp_path: Path):
    table = plan.plan(toy(tmp_path))
    assert row(table, "embed").hours == pytest.approx(350 / 10 / 3600)
    assert row(table, "finetune").hours == pytest.approx(3 * 400 / 10 / 3600)
    assert row(table, "smooth").hours == pytest.approx((435 / 10 + 600 / 2) / 3600)
    assert row(table, "balance").hours == pytest.approx(1050 / 10 / 3600)


def test_hours_without_a_speed_are_undefined_and_say_why(tmp_path: Path):
    table = plan.plan(toy(tmp_path, planning__generated_per_second={}))
    assert row(table, "embed").reason == ""
    assert np.isnan(row(table, "smooth").hours)
    assert row(table, "smooth").reason == "planning.generated_per_second.local is not set"


def test_models_behind_endpoints_are_no_work_of_this_machine(tmp_path: Path):
    engines = {"conflict__generation__engines": {"local": "remote"}}
    table = plan.plan(toy(tmp_path, overlap__reranking__judge="remote", **engines))
    assert set(table["stage"]) == EXPECTED.keys() - {"rerank", "responses"}
    assert row(table, "steered responses").sequences == 20


def test_only_as_many_contexts_are_smoothed_as_are_asked_for(tmp_path: Path):
    assert row(plan.plan(toy(tmp_path, overlap__smoothing__num_examples=2)), "smooth").tokens == 174


def test_letters_list_the_options_in_the_prompt_and_answer_in_two_tokens(tmp_path: Path):
    found = row(plan.plan(toy(tmp_path, overlap__answering__scoring="letter")), "token distances")
    assert found.tokens == 10 * (80 + 10 + 16 + 2)


def test_beyond_the_exact_limit_only_the_masks_that_methods_want_are_counted(tmp_path: Path):
    chosen = {"overlap__reranking__num_iw": 4, "overlap__retrieval__num_candidates": 4}
    table = plan.plan(toy(tmp_path, **chosen, overlap__ablation__exact_limit=2))
    # Leave-one-out of five sources: the full, five without one, and the empty context.
    assert row(table, "answer and ablate").sequences == 10 * 7 * 4


def test_files_that_exist_are_counted_and_not_assumed(tmp_path: Path):
    corpus = tmp_path / "retain.jsonl"
    corpus.write_text("".join(json.dumps({"text": "x" * n}) + "\n" for n in (400, 80)), "utf-8")
    folder = tmp_path / "ambiguity"
    folder.mkdir()
    for number, texts in enumerate((["x" * 8] * 2, ["x" * 8] * 3), start=1):
        content = {f"source_{i}": text for i, text in enumerate(texts, start=1)}
        record = {"question": "q" * 20, "content": content, "accuracy_labels": [True] * len(texts)}
        (folder / f"{number}.json").write_text(json.dumps(record), "utf-8")
    sizes = workload.measure(
        toy(
            tmp_path,
            overlap__corpora__retain=str(corpus),
            conflict__instances={"ambiguity": str(folder)},
        )
    )
    assert (sizes.retain.num_tokens, sizes.retain.num_passages) == (120, 4)
    assert sizes.instances["ambiguity"].num_pieces == {2: 1, 3: 1}
    assert sizes.instances["ambiguity"].query_tokens == 5
    assert sizes.instances["ambiguity"].piece_tokens == 2
    assert sizes.assumed == ("forget", "toy")


def test_an_absent_file_without_a_stated_size_is_the_users_error(tmp_path: Path):
    with pytest.raises(UserError, match=r"no such file.*planning\.num_examples\.temporal"):
        plan.plan(toy(tmp_path, planning__num_examples={"toy": 5}))


@pytest.mark.parametrize(("length", "expected"), [(1, 1), (40, 1), (41, 2), (70, 2), (71, 3)])
def test_windows_cover_a_document(length: int, expected: int):
    settings = Chunking(tokenizer="local", num_tokens=40, overlap=10)
    assert workload.num_passages(length, settings) == expected


def test_shown_plan_names_gaps_and_assumptions(tmp_path: Path):
    shown = plan.show(plan.plan(toy(tmp_path, planning__generated_per_second={})))
    assert "13,860" in shown
    assert "local: hours not known: planning.generated_per_second.local is not set" in shown
    assert "sizes as planning states: retain, forget, toy, temporal, ambiguity" in shown
    smooth = next(line for line in shown.splitlines() if " smooth " in line)
    assert smooth.rstrip().endswith("-")


def test_the_papers_plan_can_be_shown_without_its_data():
    paper = Path(__file__).parents[2] / "config/paper.yaml"
    shown = plan.show(plan.plan(load(paper)))
    for model in ("llama3-8b", "qwen3-32b", "llama3_2-1b"):
        assert model in shown
