"""The science of `make demo`, read from its results; run by `make check-demo`."""

from pathlib import Path

import pandas as pd
import pytest
import yaml
from sklearn.metrics import roc_auc_score

from ctxaudit import plugins, prompts, recall
from ctxaudit.artifacts import parquet, records
from ctxaudit.config.root import load
from ctxaudit.corpora import reranking
from ctxaudit.interface import Candidate
from ctxaudit.llm.client import open_client

pytestmark = pytest.mark.demo

RESULTS = Path("results")


@pytest.fixture(scope="module")
def known() -> pd.DataFrame:
    return parquet.read(RESULTS / "overlap/recall/demo/smollm2.parquet")


def test_the_base_model_reads_its_context_and_knows_nothing_without(known: pd.DataFrame):
    assert recall.accuracy(known, "base", "full") >= 0.8
    assert recall.accuracy(known, "base", "none") <= 0.4


def test_the_tuned_model_knows_and_still_reads(known: pd.DataFrame):
    gain = recall.accuracy(known, "tuned", "none") - recall.accuracy(known, "base", "none")
    assert gain >= 0.3
    assert recall.accuracy(known, "tuned", "full") >= 0.7
    assert len(recall.learned(known)) >= 8


def test_the_judge_tells_relevant_from_random_passages():
    settings = load(Path("config/config.yaml")).overlap
    questions = records.read_examples(RESULTS / "overlap/questions/demo.jsonl")
    passages = records.read_passages(RESULTS / "overlap/passages/forget.jsonl")
    passages += records.read_passages(RESULTS / "overlap/passages/retain.jsonl")
    pairs = []
    for number, question in enumerate(questions):
        stating = [p for p in passages if f"{question.gold}".casefold() in p.text.casefold()]
        other = passages[(7 * number) % len(passages)]
        if stating and other not in stating:
            pairs += [(question, stating[0], 1), (question, other, 0)]
    assert len(pairs) >= 40
    candidates = [
        Candidate(example_id=question.id, passage=passage, rank=0, similarity=0.0)
        for question, passage, _ in pairs
    ]
    judge = load(Path("config/config.yaml")).models[settings.reranking.judge]
    client = open_client(
        settings.reranking.judge,
        judge.model_dump(),
        [str(RESULTS / f"models/{settings.reranking.judge}/manifest.json")],
    )
    prompt = prompts.read_task(settings.reranking.prompt)
    rated = reranking.rerank(questions, candidates, client, prompt)
    scores = [candidate.relevance for candidate in rated]
    assert roc_auc_score([label for _, _, label in pairs], scores) >= 0.8


def test_every_table_is_mostly_defined():
    raw = yaml.safe_load(Path("tests/demo/defined_values.yaml").read_text(encoding="utf-8"))
    tables = {path.stem: path for path in (RESULTS / "tables").glob("*.csv")}
    assert set(tables) == set(raw)
    for name, least in raw.items():
        values = pd.read_csv(tables[name]).select_dtypes("number").drop(columns=["n", "undefined"])
        # Counts of replies are always defined.
        values = values.filter(regex="^(?!judge_|generator_|model_)")
        assert int(values.notna().sum().sum()) >= least, name


def test_the_data_behind_every_figure_are_mostly_defined():
    scores = parquet.read(RESULTS / "overlap/scores/demo/smollm2.parquet")
    assert scores["score"].notna().mean() >= 0.95
    probes = parquet.read(RESULTS / "conflict/probes/smollm2.parquet")
    assert probes["auc"].notna().all()
    # The embedding of the last token is the same for both twins.
    assert (probes.loc[probes["layer"] == 0, "auc"] == 0.5).all()
    for steering in ("none", "first_generated", "all_tokens"):
        balance = parquet.read(RESULTS / f"conflict/balance/smollm2/{steering}.parquet")
        assert balance["balance"].notna().mean() >= 0.75
    drawn = {path.stem for path in (RESULTS / "figures").glob("*.png")}
    assert drawn == set(plugins.available("report.figures"))


def test_leave_one_out_is_worth_less_once_the_model_knows():
    # The point of the study: the same sources, scored on a model that needs them less.
    scores = parquet.read(RESULTS / "overlap/scores/demo/smollm2.parquet")
    best = scores[scores["method"] == "attribot"].groupby(["variant", "example_id"])["score"].max()
    assert best["tuned"].median() < best["base"].median()
