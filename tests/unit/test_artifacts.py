"""What is written is what is read, and a file is there whole or not at all."""

from pathlib import Path

import numpy as np
import pytest

from ctxaudit.artifacts import evidence, jsonl, subset_scores, tensors, writing
from ctxaudit.errors import UserError
from ctxaudit.interface import Ablations, Answers, TokenDistances

MASKS = np.array([[True, False, True], [False, False, False]])


def same(read: object, written: object, fields: tuple[str, ...]) -> bool:
    return all(np.array_equal(getattr(read, name), getattr(written, name)) for name in fields)


def test_ablations_of_examples_of_unequal_size_keep_their_order(tmp_path: Path):
    written = [
        Ablations(example_id="b", masks=MASKS, logprobs=-np.eye(2, 4), has_end_token=True),
        Ablations(
            example_id="a",
            masks=np.array([[True]]),
            logprobs=np.array([[-np.inf, -1 / 3]]),
            has_end_token=False,
        ),
    ]
    path = tmp_path / "ablations.parquet"
    subset_scores.write_ablations(path, written)
    for found in (subset_scores.read_ablations(path), evidence.read("ablations", path)):
        fields = ("example_id", "masks", "logprobs", "has_end_token")
        assert [same(*pair, fields) for pair in zip(found, written, strict=True)] == [True] * 2


def test_answers_come_back(tmp_path: Path):
    written = Answers(example_id="q", masks=MASKS, scores=-np.ones((2, 4)) / 3, gold_index=2)
    subset_scores.write_answers(tmp_path / "answers.parquet", [written])
    (found,) = subset_scores.read_answers(tmp_path / "answers.parquet")
    assert same(found, written, ("example_id", "masks", "scores", "gold_index"))


def test_token_distances_come_back_in_float32(tmp_path: Path):
    written = TokenDistances(
        example_id="q",
        distances=np.array([[0.1, 0.5], [1.0, 2.0], [0.0, 0.25]]),
        matches=np.array([[True, False], [False, False], [False, True]]),
        source=np.array([0, 2]),
        num_sources=3,
    )
    path = tmp_path / "distances.parquet"
    evidence.write_token_distances(path, [written])
    (found,) = evidence.read("token_distances", path)
    assert same(found, written, ("example_id", "matches", "source", "num_sources"))
    assert np.array_equal(found.distances, written.distances.astype(np.float32))


def test_tensors_that_are_views_are_written_as_they_look(tmp_path: Path):
    view = np.arange(6.0).reshape(2, 3).T
    tensors.write(tmp_path / "t.safetensors", {"view": view})
    np.testing.assert_array_equal(tensors.read(tmp_path / "t.safetensors")["view"], view)


@pytest.mark.parametrize("line", ["{", "[1]"])
def test_a_line_that_is_no_object_is_named(tmp_path: Path, line: str):
    path = tmp_path / "some.jsonl"
    path.write_text(f'{{"a": 1}}\n\n{line}\n', "utf-8")
    with pytest.raises(UserError, match=r"some\.jsonl:3: "):
        list(jsonl.read(path))


def test_a_failed_write_leaves_the_older_file_and_nothing_else(tmp_path: Path):
    path = tmp_path / "some.jsonl"
    jsonl.write(path, [{"a": 1}])
    with pytest.raises(TypeError):
        jsonl.write(path, [{"a": 2}, {"a": object()}])
    assert list(jsonl.read(path)) == [(1, {"a": 1})]
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_folder_leaves_the_older_one_and_nothing_else(tmp_path: Path):
    folder = tmp_path / "model"
    with writing.replacing_folder(folder) as new:
        (new / "one").touch()
    with pytest.raises(FileNotFoundError), writing.replacing_folder(folder) as new:
        (new / "missing" / "two").touch()
    assert [path.name for path in tmp_path.rglob("*")] == ["model", "one"]
