"""What is planned is what is sent."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ctxaudit import prompts
from ctxaudit.artifacts import records
from ctxaudit.corpora import reranking
from ctxaudit.interface import Candidate, Example, Passage
from ctxaudit.llm.client import Client, open_client
from ctxaudit.planning import bill, calls, workload
from tests.llm.scripted_server import MODEL, Action, ScriptedServer, chat
from tests.unit.planned_toy import toy

NUM = 6
STORE = Path("store")
ARTIFACTS = calls.Artifacts(
    questions="questions/{dataset}.jsonl",
    candidates="candidates/{dataset}/{corpus}.jsonl",
    contexts="contexts/{dataset}.jsonl",
    instances="instances/{conflict}.jsonl",
)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    question = Example(id="q", query="Who?", sources=(), task="multiple_choice", gold="oxen")
    write("questions/toy.jsonl", [question])
    for corpus in ("retain", "forget"):
        write(f"candidates/toy/{corpus}.jsonl", [candidate(f"{corpus} {n}") for n in range(NUM)])


def candidate(text: str) -> Candidate:
    passage = Passage(id=text, document="d", text=text, start=0, end=9, num_tokens=2)
    return Candidate(example_id="q", passage=passage, rank=0, similarity=0.5)


def write(path: str, items: list[Any]) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text("".join(json.dumps(asdict(i)) + "\n" for i in items), "utf-8")


def entry(server: ScriptedServer, **changes: Any) -> dict[str, Any]:
    place = {"kind": "endpoint", "model": MODEL, "base_url": server.base_url}
    return {**place, "key_variable": "JUDGE_KEY", **changes}


def plan(judge: dict[str, Any]) -> Any:
    task = Path("rerank.yaml")
    task.write_text('user: "{question} {answer} {passage}"', "utf-8")
    config = toy(
        Path(),
        models__remote=judge,
        overlap__reranking__judge="remote",
        overlap__reranking__prompt=str(task),
        llm={"prices": {"as_of": "2026-01-01", "models": {"remote": {"input": 1, "output": 2}}}},
    )
    parts = calls.plan(config, workload.measure(config), ARTIFACTS, store=STORE, seed=1)
    (row,) = bill.bill(parts, config).itertuples()
    return row


def rerank(judge: dict[str, Any], corpus: str, num: int = NUM) -> None:
    """The stage itself."""
    client: Client = open_client("remote", judge, [], store=STORE, ledger=Path("ledger.jsonl"))
    reranking.rerank(
        records.read_examples("questions/toy.jsonl"),
        records.read_candidates(f"candidates/toy/{corpus}.jsonl")[:num],
        client,
        prompts.read_task("rerank.yaml"),
    )


def test_what_is_planned_is_sent_and_what_was_sent_is_planned_no_more(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
):
    judge = entry(server)
    server.usual = Action(body=chat("7"))
    with monkeypatch.context() as without_key:
        without_key.delenv("JUDGE_KEY")
        first = plan(judge)
    assert (first.calls, first.stored, first.to_ask) == (2 * NUM, 0, 2 * NUM)
    assert server.received == []

    rerank(judge, "retain", num=4)
    part = plan(judge)
    assert (part.calls, part.stored, part.to_ask) == (2 * NUM, 4, 2 * NUM - 4)
    assert part.high_usd < first.high_usd

    for corpus in ("retain", "forget"):
        rerank(judge, corpus)
    assert len(server.received) == first.to_ask
    last = plan(judge)
    assert (last.calls, last.stored, last.to_ask) == (2 * NUM, 2 * NUM, 0)
    assert (last.tokens_in, last.low_usd, last.high_usd) == (0, 0, 0)


def test_the_same_passage_in_both_corpora_is_asked_once(server: ScriptedServer):
    write("candidates/toy/forget.jsonl", [candidate(f"retain {n}") for n in range(NUM)])
    found = plan(entry(server))
    assert (found.calls, found.to_ask) == (NUM, NUM)


def test_stored_replies_that_cannot_be_used_are_asked_again_and_that_is_planned(
    server: ScriptedServer,
):
    judge = entry(server, structured_output="json_schema", max_repairs=0)
    plan(judge)  # Writes the prompt.
    server.usual = Action(body=chat("no JSON"))
    for corpus in ("retain", "forget"):
        rerank(judge, corpus)
    assert plan(judge).to_ask == 0
    repaired = {**judge, "max_repairs": 1}
    found = plan(repaired)
    assert (found.calls, found.stored, found.to_ask) == (4 * NUM, 2 * NUM, 2 * NUM)

    num_before = len(server.received)
    for corpus in ("retain", "forget"):
        rerank(repaired, corpus)
    assert len(server.received) - num_before == found.to_ask


def test_one_artifact_alone_leaves_the_share_unknown(server: ScriptedServer):
    Path("candidates/toy/forget.jsonl").unlink()
    found = plan(entry(server))
    assert pd.isna(found.stored)
    assert found.calls == 20
