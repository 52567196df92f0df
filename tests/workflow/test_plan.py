"""The target `plan`, as it is called."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from running import snakemake
from tiny import ROOT

from ctxaudit.interface import Example, Source

PAPER = ROOT / "config/paper.yaml"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A work directory with the configuration and nothing else, and no key."""
    (tmp_path / "config").symlink_to(ROOT / "config")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return tmp_path


def stage(shown: str, name: str) -> str:
    (line,) = [line for line in shown.splitlines() if line.split()[1:2] == [name]]
    return line


def test_the_papers_bill_is_printed_with_nothing_there(folder: Path):
    ran = snakemake("plan", "--cores", "1", folder=folder, config=PAPER)
    assert ran.returncode == 0, ran.stderr
    assert "not known yet" in stage(ran.stdout, "rerank")
    assert "prices: of 2025-01-01 (llm.prices)" in ran.stdout
    assert "budget: none" in ran.stdout


def test_a_stage_whose_artifacts_are_there_is_counted_from_them(folder: Path):
    sources = tuple(Source(id=f"s{n}", text=f"Segment {n}.") for n in range(2))
    examples = [
        Example(id=f"q{n}", query="?", sources=sources[: 1 + n], task="multiple_choice")
        for n in range(2)
    ]
    path = folder / "results/overlap/contexts/wmdp-cyber.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(asdict(e)) + "\n" for e in examples), "utf-8")
    ran = snakemake("plan", "--cores", "1", folder=folder, config=PAPER)
    assert ran.returncode == 0, ran.stderr
    # A context of one segment has nothing to be joined.
    assert stage(ran.stdout, "smooth").split()[:6] == [
        "overlap",
        "smooth",
        "gpt-4o",
        "1",
        "0",
        "(0",
    ]
