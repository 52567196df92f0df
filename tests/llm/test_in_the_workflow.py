"""Re-ranking as the workflow runs it, with a judge behind an endpoint."""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from ctxaudit.interface import Candidate, Example, Passage
from tests.llm.conftest import SECRET
from tests.llm.scripted_server import MODEL, Action, ScriptedServer, chat

ROOT = Path(__file__).parents[2]
RERANKED = "results/overlap/reranked/demo/retain.jsonl"
NUM_CANDIDATES = 12


def run(folder: Path, base_url: str, budget: float, *arguments: str, **traffic: Any) -> Any:
    """Let the workflow make the re-ranked candidates, and nothing else."""
    raw = yaml.safe_load((ROOT / "config/config.yaml").read_text("utf-8"))
    raw["models"]["judge"] = {
        "kind": "endpoint",
        "model": MODEL,
        "base_url": base_url,
        "key_variable": "JUDGE_KEY",
        "traffic": {"max_in_flight": 2, **traffic},
    }
    reranking = raw["overlap"]["reranking"]
    reranking.update(judge="judge", prompt=str(ROOT / reranking["prompt"]))
    prices = {"as_of": "2026-01-01", "models": {"judge": {"input": 1e6, "output": 1e6}}}
    raw["llm"] = {"budget_usd": budget, "prices": prices}
    config = folder / "config.yaml"
    config.write_text(yaml.safe_dump(raw), "utf-8")
    options = ["--cores", "1", "--configfile", str(config), "--directory", str(folder)]
    only = ["--allowed-rules", "rerank_candidates", *arguments, "--", RERANKED]
    return subprocess.run(
        [sys.executable, "-m", "snakemake", "-s", str(ROOT / "Snakefile"), *options, *only],
        env={**os.environ, "JUDGE_KEY": SECRET},
        capture_output=True,
        text=True,
        check=False,
    )


def write_inputs(folder: Path) -> None:
    question = Example(id="q", query="Who?", sources=(), task="multiple_choice", gold="oxen")
    candidates = [
        Candidate(
            example_id="q",
            passage=Passage(
                id=f"p{at}", document="d", text=f"passage {at}", start=0, end=9, num_tokens=2
            ),
            rank=at,
            similarity=0.5,
        )
        for at in range(NUM_CANDIDATES)
    ]
    for path, records in (
        ("questions/demo.jsonl", [question]),
        ("candidates/demo/retain.jsonl", candidates),
    ):
        file = folder / "results/overlap" / path
        file.parent.mkdir(parents=True)
        file.write_text("".join(json.dumps(asdict(r)) + "\n" for r in records), "utf-8")


def test_a_run_stops_at_its_budget_goes_on_and_leaves_no_key(
    server: ScriptedServer, tmp_path: Path
):
    write_inputs(tmp_path)
    leak = f"you sent Bearer {SECRET}"
    server.usual = Action(body={**chat("7"), "leak": leak})
    # A call costs five dollars, and about 900 at worst: a few fit one after the other.
    stopped = run(tmp_path, server.base_url, budget=950)
    assert stopped.returncode != 0
    assert "llm.budget_usd: 950 dollars are reached" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    num_before = len(server.received)
    assert 0 < num_before < NUM_CANDIDATES

    fault = Action(body={"error": {"message": leak, "code": SECRET}}, status=500)
    server.first = [fault]
    finished = run(tmp_path, server.base_url, budget=1e6)
    assert finished.returncode == 0, finished.stderr
    assert sorted(server.times().values()) == [*[1] * (NUM_CANDIDATES - 1), 2]

    # Neither the budget nor the traffic can change a reply.
    again = run(tmp_path, server.base_url, 2e6, "--dry-run", max_in_flight=1)
    assert "Nothing to be done" in again.stderr + again.stdout
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {".snakemake", "logs", "results"} <= {p.relative_to(tmp_path).parts[0] for p in files}
    shown = [process.stdout + process.stderr for process in (stopped, finished, again)]
    for text in [*shown, *(path.read_text("utf-8", errors="replace") for path in files)]:
        assert SECRET not in text
