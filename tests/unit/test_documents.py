import json
from pathlib import Path
from typing import Any

import pytest

from ctxaudit.corpora import documents
from ctxaudit.errors import UserError


def corpus(folder: Path, *records: Any) -> Path:
    path = folder / "corpus.jsonl"
    path.write_text("\n".join(map(json.dumps, records)) + "\n", encoding="utf-8")
    return path


def test_ids_default_to_line_numbers_and_other_keys_are_ignored(tmp_path: Path):
    path = corpus(tmp_path, {"text": "one", "title": 3}, {"text": "two", "id": "x"})
    read = documents.read(path, "retain")
    assert [(d.id, d.corpus, d.text) for d in read] == [
        ("1", "retain", "one"),
        ("x", "retain", "two"),
    ]


@pytest.mark.parametrize(
    ("record", "field"),
    [
        ({}, "text"),
        ({"text": " \n"}, "text"),
        ({"text": 5}, "text"),
        ({"text": "a", "id": ""}, "id"),
        ({"text": "a", "id": True}, "id"),
        ({"text": "a", "id": "first"}, "id"),
    ],
)
def test_a_fault_names_file_line_and_field(tmp_path: Path, record: Any, field: str):
    path = corpus(tmp_path, {"text": "a", "id": "first"}, record)
    with pytest.raises(UserError, match=rf"corpus\.jsonl:2: {field}: "):
        documents.read(path, "retain")


def test_an_empty_corpus_is_refused(tmp_path: Path):
    path = tmp_path / "corpus.jsonl"
    path.write_text("\n", encoding="utf-8")
    with pytest.raises(UserError, match="no documents"):
        documents.read(path, "retain")
