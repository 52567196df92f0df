import json

import pandas as pd
import pytest

from ctxaudit.datasets import wmdp
from ctxaudit.errors import UserError
from ctxaudit.interface import Example

ROW = {"question": "The bridge was built from", "choices": ["stone", "wood"], "answer": 1}


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def read(path):
    return list(wmdp.load(path))


def test_a_row_becomes_an_example_with_its_gold_answer(tmp_path):
    assert read(write(tmp_path / "bio.jsonl", ROW)) == [
        Example(
            id="bio-1",
            query="The bridge was built from",
            sources=(),
            task="multiple_choice",
            choices=("stone", "wood"),
            gold="wood",
            group="bio-1",
        )
    ]


def test_parquet_and_jsonl_give_the_same_examples(tmp_path):
    rows = [ROW, {**ROW, "question": "Ünïcode {braces}", "answer": 0}]
    pd.DataFrame(rows).to_parquet(tmp_path / "q.parquet")
    assert read(str(tmp_path / "q.parquet")) == read(write(tmp_path / "q.jsonl", *rows))


def test_a_given_id_is_kept(tmp_path):
    (example,) = read(write(tmp_path / "q.jsonl", {**ROW, "id": "bridge"}))
    assert (example.id, example.group) == ("bridge", "bridge")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("question", ""),
        ("question", "  "),
        ("question", None),
        ("question", 3),
        ("choices", None),
        ("choices", "ab"),
        ("choices", ["one"]),
        ("choices", ["one", ""]),
        ("choices", ["one", 2]),
        ("choices", ["same", "same"]),
        ("answer", None),
        ("answer", 2),
        ("answer", -1),
        ("answer", "1"),
        ("answer", 1.0),
        ("answer", True),
        ("id", ""),
        ("id", 7),
    ],
)
def test_a_faulty_field_is_named_with_its_line(tmp_path, field, value):
    path = write(tmp_path / "q.jsonl", ROW, {**ROW, field: value})
    with pytest.raises(UserError, match=rf"q\.jsonl:2: {field}(\[1\])?: "):
        read(path)


@pytest.mark.parametrize("field", ["question", "choices", "answer"])
def test_a_missing_field_is_named(tmp_path, field):
    row = {key: value for key, value in ROW.items() if key != field}
    with pytest.raises(UserError, match=f":1: {field}: "):
        read(write(tmp_path / "q.jsonl", row))


def test_the_allowed_indices_are_named(tmp_path):
    with pytest.raises(UserError, match="allowed: 0 to 1"):
        read(write(tmp_path / "q.jsonl", {**ROW, "answer": 4}))


def test_a_duplicate_id_is_refused(tmp_path):
    path = write(tmp_path / "q.jsonl", {**ROW, "id": "x"}, {**ROW, "id": "x"})
    with pytest.raises(UserError, match=":2: id: 'x' occurs twice"):
        read(path)


def test_an_empty_file_is_refused(tmp_path):
    with pytest.raises(UserError, match="no questions"):
        read(write(tmp_path / "q.jsonl"))
