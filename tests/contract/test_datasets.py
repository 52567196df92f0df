"""What every module of `ctxaudit.datasets` must hold to."""

import gzip
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import raw_questions

from ctxaudit import plugins
from ctxaudit.artifacts import records
from ctxaudit.errors import UserError
from ctxaudit.interface import DatasetLoader, Example, Span, Task

DATASETS = plugins.available("datasets")
OF_ROWS = sorted(raw_questions.ROWS)

each = pytest.mark.parametrize("name", DATASETS)
each_of_rows = pytest.mark.parametrize("name", OF_ROWS)


def read(name: str, path: str | Path) -> list[Example]:
    return list(plugins.load("datasets", name).load(str(path)))


def of_rows(name: str, num: int = 3) -> list[dict]:
    return [raw_questions.ROWS[name](number) for number in range(num)]


def test_every_loader_is_tested_here():
    assert set(DATASETS) == {*OF_ROWS, "contextconflict"}


@each
def test_it_is_a_loader(name: str):
    assert isinstance(plugins.load("datasets", name), DatasetLoader)


@each
def test_examples_are_whole_and_their_ids_unique(name: str, tmp_path: Path):
    examples = read(name, raw_questions.write(name, tmp_path, 3))
    assert len({example.id for example in examples}) == len(examples) == 3
    for example in examples:
        assert example.task in get_args(Task)
        assert example.query.strip()
        assert example.gold
        assert example.group
        assert example.sources or example.context or example.choices
        assert all(isinstance(value, str) for value in example.tags.values())
        if example.choices:
            assert example.gold in example.choices
        if "gold_all" in example.tags:
            assert json.loads(example.tags["gold_all"])[0] == example.gold


@each
def test_spans_lie_in_their_text_and_units_do_not_overlap(name: str, tmp_path: Path):
    def check(spans: tuple[Span, ...], text: str) -> None:
        assert all(0 <= start <= end <= len(text) for start, end in spans)

    for example in read(name, raw_questions.write(name, tmp_path, 3)):
        for document in example.context:
            assert document.text.strip()
            for spans in (document.units, document.support or (), document.answers):
                check(spans, document.text)
            assert all(a[1] <= b[0] for a, b in itertools.pairwise(document.units))


@each
def test_examples_come_back_from_their_artifact(name: str, tmp_path: Path):
    examples = read(name, raw_questions.write(name, tmp_path, 3))
    records.write_examples(tmp_path / "examples.jsonl", examples)
    assert records.read_examples(tmp_path / "examples.jsonl") == examples


@each_of_rows
def test_it_streams(name: str, tmp_path: Path):
    """The first example is there before a fault at the end of the file is met."""
    path = Path(raw_questions.write(name, tmp_path, 3))
    with path.open("a", encoding="utf-8") as stream:
        stream.write(" " * (1 << 20) + "no record")
    examples = plugins.load("datasets", name).load(str(path))
    assert isinstance(examples, Iterator)
    assert next(examples).query
    with pytest.raises(UserError, match=r"raw\.jsonl:4: not valid JSON"):
        list(examples)


@each_of_rows
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("layout", ["array", "lines", "indented"])
def test_content_tells_the_format_and_not_the_name(
    name: str, layout: str, packed: bool, tmp_path: Path
):
    rows = of_rows(name)
    text = {
        "array": json.dumps(rows),
        "lines": "\n".join(map(json.dumps, rows)),
        "indented": json.dumps(rows, indent=2, ensure_ascii=False),
    }[layout]
    path = tmp_path / "raw.parquet"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    assert read(name, path) == read(name, raw_questions.write(name, tmp_path, 3))


@each_of_rows
def test_a_table_gives_the_same_as_lines(name: str, tmp_path: Path):
    pq.write_table(pa.Table.from_pylist(of_rows(name)), tmp_path / "raw.txt")
    assert read(name, tmp_path / "raw.txt") == read(name, raw_questions.write(name, tmp_path, 3))


@each_of_rows
def test_a_repeated_id_is_named_with_its_line(name: str, tmp_path: Path):
    path = Path(raw_questions.write(name, tmp_path, 2))
    path.write_text(path.read_text("utf-8") * 2, encoding="utf-8")
    with pytest.raises(UserError, match=r"raw\.jsonl:3: id: '.+' occurs twice"):
        read(name, path)


@each_of_rows
@pytest.mark.parametrize("key", ["query", "id"])
def test_a_null_is_named_with_its_line_and_field(name: str, key: str, tmp_path: Path):
    first, second = of_rows(name, 2)
    keys = {"query": {"query", "question", "question_text", "article"}, "id": _IDS}[key]
    (field,) = keys & second.keys()
    path = tmp_path / "raw.jsonl"
    path.write_text("\n".join(map(json.dumps, [first, {**second, field: None}])), "utf-8")
    with pytest.raises(UserError, match=rf"raw\.jsonl:2: {field}: expected .*, got None"):
        read(name, path)


_IDS = {"id", "query_id", "example_id"}


@each_of_rows
@pytest.mark.parametrize("content", [b"", b"\n", b"[]", b"\xff\xfe", b"{", b"PAR1", b"\x1f\x8b"])
def test_a_file_without_questions_is_refused_by_its_name(name: str, content: bytes, tmp_path: Path):
    path = tmp_path / "raw.jsonl"
    path.write_bytes(content)
    with pytest.raises(UserError, match=re.escape(str(path))):
        read(name, path)


@each_of_rows
def test_a_file_that_is_absent_is_refused_by_its_name(name: str, tmp_path: Path):
    with pytest.raises(UserError, match=re.escape(str(tmp_path / "nowhere"))):
        read(name, tmp_path / "nowhere")


@each_of_rows
def test_a_git_lfs_pointer_is_recognised(name: str, tmp_path: Path):
    path = tmp_path / "raw.jsonl"
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "utf-8")
    with pytest.raises(UserError, match="is a Git LFS pointer, not the data"):
        read(name, path)
