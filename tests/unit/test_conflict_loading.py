"""Reading instances in the released layout: order, labels, and one message per fault."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from ctxaudit.datasets import contextconflict
from ctxaudit.errors import UserError

RECORD: dict[str, Any] = {
    "question": "Who kept the light in 1415?",
    "content": {"source_1": "Oda since 1398.", "source_2": "Brann since 1411."},
    "answer": "Brann",
    "accuracy_labels": [False, True],
    "timestamps": {"source_1": "1398", "source_2": "1411-05-02"},
    "group": "light",
}

DELETE = object()


def write(folder: Path, name: str, record: Any) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(record if isinstance(record, str) else json.dumps(record), encoding="utf-8")
    return path


def changed(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    record = copy.deepcopy(RECORD)
    inner = record
    for key in path[:-1]:
        inner = inner[key]
    if value is DELETE:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return record


def test_every_field_of_a_record_arrives_in_the_example(tmp_path):
    write(tmp_path / "temporal", "7.json", {**RECORD, "qid": 12345678901234567890})
    [example] = contextconflict.load(str(tmp_path / "temporal"))
    assert (example.id, example.group, example.task) == ("temporal-7", "light", "reasoning")
    assert example.query == RECORD["question"]
    assert [s.text for s in example.sources] == list(RECORD["content"].values())
    assert [s.accurate for s in example.sources] == [False, True]
    assert [s.attributes["time"] for s in example.sources] == ["1398", "1411-05-02"]
    assert example.gold == "Brann"
    assert json.loads(example.tags["gold_all"]) == ["Brann"]


def test_files_and_sources_follow_their_numbers_and_not_the_alphabet(tmp_path):
    folder = tmp_path / "temporal"
    numbers = [10, 2, 1, 11, 3, 4, 5, 6, 7, 8, 9, 12]
    content = {f"source_{n}": f"Piece {n}." for n in numbers}
    record = {"question": "Which?", "content": content, "answer": "Piece 3"}
    for name in ("10.json", "9.json", "100.json"):
        write(folder, name, record)
    examples = contextconflict.load(str(folder))
    assert [e.id for e in examples] == ["temporal-9", "temporal-10", "temporal-100"]
    assert [s.text for s in examples[0].sources] == [f"Piece {n}." for n in range(1, 13)]
    assert examples[0].group == "temporal-9"
    assert examples[0].sources[0].accurate is None


def test_the_type_may_be_named_apart_from_the_folder_and_may_have_many_or_no_answers(tmp_path):
    several = changed(("answer",), ["Brann", "Tilde"])
    write(tmp_path / "mine", "1.json", several)
    write(tmp_path / "mine", "2.json", changed(("answer",), DELETE))
    first, second = contextconflict.load(str(tmp_path / "mine"), conflict_type="ambiguity")
    assert (first.id, first.task, first.gold) == ("ambiguity-1", "summarization", "Brann")
    assert json.loads(first.tags["gold_all"]) == ["Brann", "Tilde"]
    assert second.gold is None
    assert "gold_all" not in second.tags


def test_integer_stances_of_the_released_code_are_read_as_text(tmp_path):
    record = {**RECORD, "stance_labels": {"source_1": 0, "source_2": 1}}
    write(tmp_path / "perspective", "1.json", record)
    [example] = contextconflict.load(str(tmp_path / "perspective"))
    assert [s.attributes["stance"] for s in example.sources] == ["0", "1"]


MUTATIONS: list[tuple[tuple[str, ...], Any, str]] = [
    *[(("question",), bad, "question") for bad in (DELETE, None, "", "  \n", 3, ["Who?"])],
    *[(("content",), bad, "content") for bad in (DELETE, None, [], "text", {}, {"source_1": "a"})],
    *[(("content", "source_2"), bad, "content.source_2") for bad in (None, "", " ", 5, [], {})],
    (("content", "source_2"), "half \ud800", "content.source_2"),
    (("content", "source_4"), "After a gap.", "source_3"),
    (("content", "source_1"), DELETE, "content"),
    *[
        (("content", key), "Text.", f"content.{key}")
        for key in ("source_0", "source_03", "source_-1", "source_x", "Source_3", "source_٣", "")
    ],
    *[(("answer",), bad, "answer") for bad in (DELETE, None, "", 1, True, [], [""], ["a", 2], {})],
    *[
        (("accuracy_labels",), bad, "accuracy_labels")
        for bad in (None, [], [True], [True] * 3, [1, 0], ["true", "false"], {"source_1": True}, "")
    ],
    *[
        (("timestamps",), bad, "timestamps")
        for bad in (None, ["1398", "1411"], {}, {"source_1": "1398"}, "1398")
    ],
    *[
        (("timestamps", "source_2"), bad, "timestamps.source_2")
        for bad in (None, "", "May 1411", "1411-13", "1411-02-40", "1411/05", True, 1411.0, 7)
    ],
    (("timestamps", "source_3"), "1420", "timestamps.source_3"),
    (("entities",), {"source_1": "a", "source_2": "b", "source_9": "c"}, "entities.source_9"),
    (("levels",), {"source_1": "broad", "source_2": ""}, "levels.source_2"),
    (("branch",), {"source_2": "original"}, "branch.source_1"),
    (("stance_labels",), {"source_1": 0.5, "source_2": 1}, "stance_labels.source_1"),
    *[(("group",), bad, "group") for bad in (None, "", 3, [])],
    *[(("original_answer",), bad, "original_answer") for bad in (None, "", 3, [])],
]


@pytest.mark.parametrize(("path", "value", "field"), MUTATIONS)
def test_a_faulty_record_is_refused_with_file_and_field(tmp_path, path, value, field):
    folder = tmp_path / "temporal"
    write(folder, "1.json", RECORD)
    file = write(folder, "2.json", changed(path, value))
    with pytest.raises(UserError) as caught:
        contextconflict.load(str(folder))
    assert str(file) in str(caught.value)
    assert field in str(caught.value).removeprefix(str(file))


UNREADABLE = [
    "",
    "{",
    "[1, 2]",
    "null",
    '"text"',
    '{"question": "a", "question": "b"}',
    "[" * 100_000,
]


@pytest.mark.parametrize("content", UNREADABLE)
def test_a_file_that_is_no_json_object_is_refused_by_name(tmp_path, content):
    file = write(tmp_path / "temporal", "1.json", content)
    with pytest.raises(UserError, match="JSON") as caught:
        contextconflict.load(str(tmp_path / "temporal"))
    assert str(file) in str(caught.value)


def test_a_file_cut_anywhere_or_with_a_broken_byte_is_refused(tmp_path):
    folder = tmp_path / "temporal"
    raw = json.dumps(RECORD).encode()
    broken = [raw[:cut] for cut in range(len(raw))]
    broken += [raw[:at] + b"\xff" + raw[at + 1 :] for at in range(0, len(raw), 3)]
    folder.mkdir()
    for content in broken:
        (folder / "1.json").write_bytes(content)
        with pytest.raises(UserError, match=r"1\.json"):
            contextconflict.load(str(folder))


def test_folders_without_usable_files_are_refused(tmp_path):
    with pytest.raises(UserError, match="no such folder"):
        contextconflict.load(str(tmp_path / "temporal"))
    (tmp_path / "temporal").mkdir()
    with pytest.raises(UserError, match="no instance"):
        contextconflict.load(str(tmp_path / "temporal"))
    write(tmp_path / "temporal", "card.json", RECORD)
    with pytest.raises(UserError, match=r"card\.json.*must be numbers"):
        contextconflict.load(str(tmp_path / "temporal"))
    with pytest.raises(UserError, match="unknown conflict 'elsewhere'"):
        contextconflict.load(str(tmp_path / "elsewhere"))


def test_two_files_with_one_number_are_refused(tmp_path):
    write(tmp_path / "temporal", "1.json", RECORD)
    write(tmp_path / "temporal", "01.json", RECORD)
    with pytest.raises(UserError, match=r"1\.json: has the number of 01\.json"):
        contextconflict.load(str(tmp_path / "temporal"))
