from pathlib import Path

import pytest

from ctxaudit import inputs
from ctxaudit.errors import UserError


def test_a_text_file_is_given_back(tmp_path: Path):
    path = tmp_path / "corpus.jsonl"
    path.write_text("größer\n", encoding="utf-8")
    assert inputs.check_text_file(str(path), key="k") == str(path)


def test_a_character_across_the_end_of_what_is_read_is_no_fault(tmp_path: Path):
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(b"a" * (inputs._LOOKED_AT - 1) + "ß".encode() + b"a")
    inputs.check_text_file(str(path), key="k")


def test_a_character_cut_by_the_end_of_the_file_is_one(tmp_path: Path):
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(b"a" + "ß".encode()[:1])
    with pytest.raises(UserError, match=r"corpus\.jsonl:1: not UTF-8"):
        inputs.check_text_file(str(path), key="k")


def test_the_line_that_is_not_utf8_is_named(tmp_path: Path):
    path = tmp_path / "prompt.yaml"
    path.write_bytes(b"one\ntwo\ngr\xf6\xdfer\n")
    with pytest.raises(UserError, match=r"^a\.prompt: .*prompt\.yaml:3: not UTF-8; save"):
        inputs.check_text_file(str(path), key="a.prompt")


def test_an_absent_file_is_named_with_its_key_and_where_it_was_sought(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as caught:
        inputs.check_text_file("data/retain.jsonl", key="overlap.corpora.retain")
    message = str(caught.value)
    assert message.startswith("overlap.corpora.retain: data/retain.jsonl: no such file")
    assert f"taken from {tmp_path}" in message


def test_a_folder_is_no_file(tmp_path: Path):
    with pytest.raises(UserError, match="is a directory"):
        inputs.check_text_file(str(tmp_path), key="k")


@pytest.mark.parametrize("content", [b"{}\n", b"PAR1\x00\xff", b"\x1f\x8b\x08\xff"])
def test_a_raw_file_may_be_text_or_packed(tmp_path: Path, content: bytes):
    (tmp_path / "raw").write_bytes(content)
    assert inputs.find_raw_files(str(tmp_path / "raw"), key="k") == [str(tmp_path / "raw")]


def test_raw_files_of_a_folder_are_found_at_any_depth(tmp_path: Path):
    for name in ("b/2.story", "a.txt", "b/.hidden"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("", encoding="utf-8")
    found = inputs.find_raw_files(str(tmp_path), key="k")
    assert found == [str(tmp_path / "a.txt"), str(tmp_path / "b/2.story")]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (None, "no such file or directory; put it there"),
        (b"gr\xfc\xdfe", "not UTF-8"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "is a Git LFS pointer"),
    ],
)
def test_a_raw_file_that_cannot_serve_is_named_with_its_key(
    tmp_path: Path, content: bytes | None, fault: str
):
    if content is not None:
        (tmp_path / "raw").write_bytes(content)
    with pytest.raises(UserError, match=f"^overlap.datasets.x.path: .*raw.*{fault}"):
        inputs.find_raw_files(str(tmp_path / "raw"), key="overlap.datasets.x.path")


def test_a_folder_without_a_raw_file_is_named_with_its_key(tmp_path: Path):
    with pytest.raises(UserError, match=r"^k: .*holds no file"):
        inputs.find_raw_files(str(tmp_path), key="k")


def test_json_files_are_found_sorted_and_alone(tmp_path: Path):
    for name in ("10.json", "2.json", "notes.md"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    found = inputs.find_json_files(str(tmp_path), key="k")
    assert found == [str(tmp_path / "10.json"), str(tmp_path / "2.json")]


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("nothing", "no such file"),
        ("file", "not a directory"),
        ("empty", r"holds no file \*\.json"),
    ],
)
def test_a_folder_without_instances_is_named_with_its_key(tmp_path: Path, name: str, fault: str):
    (tmp_path / "file").write_text("", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=f"^conflict.instances.temporal: .*{name}: {fault}"):
        inputs.find_json_files(str(tmp_path / name), key="conflict.instances.temporal")
