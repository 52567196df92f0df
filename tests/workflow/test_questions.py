"""Question sets through the rule: packed files, folders, samples."""

import gzip
import json
import shutil
from pathlib import Path

import pytest
from running import broken, snakemake
from tiny import ROOT

TARGET = "results/overlap/questions/demo.jsonl"
LINES = [
    json.dumps({"id": f"q{n}", "question": f"{n}?", "choices": ["a", "b"], "answer": 0}) + "\n"
    for n in range(40)
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A work directory with the default configuration and a raw folder of two shards."""
    for name in ("config", "resources"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shards = tmp_path / "shards"
    shards.mkdir()
    (shards / "a.bin").write_bytes(gzip.compress("".join(LINES[:20]).encode()))
    (shards / "b.bin").write_text("".join(LINES[20:]), encoding="utf-8")
    return tmp_path


def taken(folder: Path, **entry: object) -> list[str]:
    """Ids of the questions that the rule gives."""
    change = {f"overlap.datasets.demo.{key}": value for key, value in entry.items()}
    config = broken(folder / "config/config.yaml", folder, change)
    ran = snakemake("--cores", "1", TARGET, folder=folder, config=config)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    lines = (folder / TARGET).read_text("utf-8").splitlines()
    return [json.loads(line)["id"] for line in lines]


def test_a_sample_of_shards_grows_and_follows_what_lies_in_the_folder(folder: Path):
    few = taken(folder, path="shards", num_examples=5)
    assert len(few) == 5
    more = taken(folder, path="shards", num_examples=12)
    assert len(more) == 12
    assert set(few) < set(more)
    (folder / "shards/b.bin").unlink()
    assert len(taken(folder, path="shards", num_examples=30)) == 20
