from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ctxaudit.artifacts import parquet, records
from ctxaudit.interface import Candidate, Example, Passage, Source
from ctxaudit.report import frames


def test_examples_take_their_dataset_from_the_file_and_their_tags_as_columns(tmp_path: Path):
    path = tmp_path / "demo.jsonl"
    sources = (Source(id="a", text="A"), Source(id="b", text="B"))
    tags = {
        "smoothed": "no",
        "smoothing_fault": "markers lost",
        "smoothing_outcome": "unparsable",
    }
    example = Example(id="q0", query="?", sources=sources, task="multiple_choice", tags=tags)
    records.write_examples(path, [example])
    found = frames.read("examples", [str(path)])
    assert found.to_dict("records") == [
        {"dataset": "demo", "example_id": "q0", "num_sources": 2, **tags}
    ]


def test_candidates_take_dataset_and_corpus_from_the_path(tmp_path: Path):
    passage = Passage(id="retain/d#0", document="d", text="T", start=0, end=1, num_tokens=1)
    candidate = Candidate(
        example_id="q0", passage=passage, rank=0, similarity=0.5, reason="unparsable"
    )
    path = tmp_path / "demo/retain.jsonl"
    records.write_candidates(path, [candidate])
    found = frames.read("candidates", [str(path)]).iloc[0]
    assert (found["dataset"], found["corpus"], found["example_id"]) == ("demo", "retain", "q0")
    assert np.isnan(found["relevance"])
    assert found["reason"] == "unparsable"


def test_tables_are_put_one_below_the_other(tmp_path: Path):
    paths = [str(tmp_path / f"{name}.parquet") for name in ("one", "two", "none")]
    row = ("demo", "tiny", "base", "none", "q0", 1.0, "")
    for path, rows in zip(paths, ([row], [row, row], []), strict=True):
        parquet.write(path, pd.DataFrame(rows, columns=list(frames.COLUMNS["recall"])))
    assert len(frames.read("recall", paths)) == 3
    assert list(frames.read("recall", paths[2:]).columns) == list(frames.COLUMNS["recall"])


def test_a_missing_column_names_file_and_column(tmp_path: Path):
    path = tmp_path / "m.parquet"
    columns = [name for name in frames.COLUMNS["recall"] if name != "correct"]
    parquet.write(path, pd.DataFrame(columns=columns))
    with pytest.raises(ValueError, match=r"m\.parquet: recall without correct"):
        frames.read("recall", [str(path)])
