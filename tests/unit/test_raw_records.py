import gzip
import json
import tracemalloc

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ctxaudit.artifacts import containers, raw_records
from ctxaudit.errors import UserError

ROWS = [{"id": 2**63 - 1, "text": "größer\n"}, {"id": None, "text": " two "}]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)
LAYOUTS = {
    "lines": LINES.encode(),
    "lines with blank ones and carriage returns": (
        "\r\n" + LINES.replace("\n", "\r\n\r\n")
    ).encode(),
    "lines after a byte order mark": b"\xef\xbb\xbf" + LINES.encode(),
    "array": json.dumps(ROWS, indent=2, ensure_ascii=False).encode(),
    "zipped lines": gzip.compress(LINES.encode()),
    "zipped array": gzip.compress(json.dumps(ROWS).encode()),
}


def values(path):
    return [record.fields for record in raw_records.read(path)]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_records_are_told_by_content_whatever_the_name(tmp_path, layout):
    path = tmp_path / "raw.parquet"
    path.write_bytes(LAYOUTS[layout])
    assert values(path) == ROWS


def test_whole_numbers_of_a_table_stay_exact_beside_nulls(tmp_path):
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "raw.json")
    assert values(tmp_path / "raw.json") == ROWS


def test_lines_are_named_by_line_and_other_records_by_number(tmp_path):
    (tmp_path / "a.b.jsonl").write_text('\n{"x": 1}\n\n{"x": 2}\n', encoding="utf-8")
    (tmp_path / "c.json").write_text('[{"x": 3}]', encoding="utf-8")
    pq.write_table(pa.Table.from_pylist([{"x": 4}]), tmp_path / "d.parquet")
    (tmp_path / ".hidden").write_text("no record", encoding="utf-8")
    found = list(raw_records.read(tmp_path))
    assert [record.fields["x"] for record in found] == [1, 2, 3, 4]
    assert [record.default_id for record in found] == ["a-1", "a-2", "c-1", "d-1"]
    assert [record.place.removeprefix(f"{tmp_path}/") for record in found] == [
        "a.b.jsonl:2",
        "a.b.jsonl:4",
        "c.json: record 1",
        "d.parquet: record 1",
    ]


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read"),
        (POINTER, "is a Git LFS pointer, not the data; run `git lfs pull`"),
        (b'{"a": "gr\xfc\xdfe"}', "not UTF-8"),
        (b"\x1f\x8b not gzip", "cannot be read"),
        (gzip.compress(LINES.encode())[:-12], "cannot be read"),
        (gzip.compress(b"\xff\xfe\x00"), "not UTF-8"),
        (b"PAR1 not a table", "not readable as parquet"),
        (b"[1]", "record 1: expected a JSON object, got int"),
        (b'{"a": 1}\nnull\n', ":2: expected a JSON object, got NoneType"),
        (b"question,answer\n", ":1: not valid JSON"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, content, message):
    if content is not None:
        (tmp_path / "raw.jsonl").write_bytes(content)
    with pytest.raises(UserError, match=rf"raw\.jsonl:? ?.*{message}"):
        values(tmp_path / "raw.jsonl")


def test_a_folder_without_a_file_is_named(tmp_path):
    with pytest.raises(UserError, match="the folder holds no file"):
        values(tmp_path)


def peak_while_reading(path) -> int:
    tracemalloc.start()
    try:
        assert sum(1 for _ in raw_records.read(path)) == 20_000
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("layout", ["lines", "array"])
def test_memory_does_not_grow_with_the_file(tmp_path, layout):
    """8 MB of text; its records alone would take more than that."""
    path = tmp_path / "raw.json"
    start, joint, end = ("[", ",", "]") if layout == "array" else ("", "\n", "")
    with path.open("w", encoding="utf-8") as stream:
        stream.write(start)
        for number in range(20_000):
            stream.write((joint if number else "") + json.dumps({"id": number, "text": "x" * 380}))
        stream.write(end)
    # A few chunks of text, each of which holds some hundred records.
    assert peak_while_reading(path) < 2_000_000 < path.stat().st_size / 3


def test_memory_does_not_grow_with_a_table(tmp_path):
    """One row group of 20 MB that is stored as it is; Arrow's memory is not Python's."""
    path = tmp_path / "raw.parquet"
    rows = ({"id": number, "text": f"{number:01000d}"} for number in range(20_000))
    table = pa.Table.from_pylist(list(rows))
    pq.write_table(table, path, compression="none", use_dictionary=False, data_page_size=1 << 16)
    size = table.nbytes
    del table
    before, most = pa.total_allocated_bytes(), 0
    for _ in containers.parquet_rows(path):
        most = max(most, pa.total_allocated_bytes() - before)
    assert most < 4_000_000 < size / 4
