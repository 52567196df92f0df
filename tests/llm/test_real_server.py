"""Re-ranking through the `openai` client and a real server."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ctxaudit.corpora import reranking
from ctxaudit.interface import Candidate, Example, Passage
from ctxaudit.llm.client import Client, open_client
from ctxaudit.llm.ledger import Ledger
from ctxaudit.llm.requests import ChatRequest
from ctxaudit.llm.store import ResponseStore
from ctxaudit.prompts import TaskPrompt
from tests.llm import lookup_model

ROOT = Path(__file__).parents[2]
EMBEDDED = ROOT / "results/models/smollm2"
QUESTION = Example(
    id="q", query="The ferry is pulled by", sources=(), task="multiple_choice", gold="oxen"
)


@contextmanager
def serving(folder: Path, log: Path) -> Iterator[str]:
    """`transformers serve` on a model folder; gives its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = ["serve", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    options = ["--device", "cpu", "--dtype", "float32"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    with log.open("w") as stream:
        server = subprocess.Popen(
            [sys.executable, "-m", "transformers.cli.transformers", *command, *options],
            env=environment,
            stdout=stream,
            stderr=stream,
        )
    try:
        until = time.monotonic() + 120
        while not answers(port):
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.kill()
        server.wait()


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def judge(folder: Path, base_url: str, results: Path) -> Client:
    entry = {
        "kind": "endpoint",
        "model": str(folder),
        "allow_alias": True,
        "base_url": base_url,
        "key_variable": "LOCAL_KEY",
        "traffic": {"max_in_flight": 2, "max_attempts": 1},
    }
    return open_client(
        "judge", entry, [], store=results / "responses", ledger=results / "ledger.jsonl"
    )


def candidates(*texts: str) -> list[Candidate]:
    return [
        Candidate(
            example_id="q",
            passage=Passage(
                id=str(at), document="d", text=text, start=0, end=len(text), num_tokens=1
            ),
            rank=at,
            similarity=0.5,
        )
        for at, text in enumerate(texts)
    ]


def test_passages_are_reranked_through_a_real_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("LOCAL_KEY", "none")
    folder = tmp_path / "model"
    lookup_model.save(folder)
    passages = candidates("oxen are near", "salt is far", "bread is mute", "this is endless")
    prompt = TaskPrompt(user="{question} {answer} : {passage}")

    def rerank(base_url: str) -> list[Any]:
        client = judge(folder, base_url, tmp_path)
        found = reranking.rerank([QUESTION], passages, client, prompt)
        return [candidate.reason or candidate.relevance for candidate in found]

    with serving(folder, tmp_path / "server.log") as base_url:
        assert rerank(base_url) == [9.0, 2.0, "unparsable", "length"]
    # The server is gone: every reply comes from the store.
    assert rerank(base_url) == [9.0, 2.0, "unparsable", "length"]
    assert Ledger(tmp_path / "ledger.jsonl").totals().calls == {"answered": 4, "open": 0}


@pytest.mark.demo
def test_the_embedded_judge_says_the_same_behind_a_server_and_in_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("LOCAL_KEY", "none")
    passages = candidates("Two grey oxen pull the ferry.", "Bakers sell bread.", "Salt is raked.")
    prompt = TaskPrompt(user="Rate from 0 to 10.\n{passage}\n{question} {answer}")
    with serving(EMBEDDED, tmp_path / "server.log") as base_url:
        served = judge(EMBEDDED, base_url, tmp_path)
        assert len(reranking.rerank([QUESTION], passages, served, prompt)) == 3
    store = ResponseStore(tmp_path / "responses")
    entries = [store.entry(key) for key in store]
    assert len(entries) == 3
    entry = {"kind": "folder", "path": str(EMBEDDED), "dtype": "float32"}
    local = open_client("judge", entry, [EMBEDDED / "manifest.json"], store=tmp_path / "local")
    replies = local.complete(
        [
            ChatRequest(
                model="judge",
                messages=entry["request"]["messages"],
                max_new_tokens=entry["request"]["max_new_tokens"],
            )
            for entry in entries
        ]
    )
    for entry, reply in zip(entries, replies, strict=True):
        said = entry["completion"]
        assert (said["text"], said["prompt_tokens"]) == (reply.text, reply.prompt_tokens)
