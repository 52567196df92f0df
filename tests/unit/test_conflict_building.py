"""Conflict examples with their twins, and the split into calibration and test."""

import json
from pathlib import Path

import pytest

from ctxaudit.conflict import building
from ctxaudit.errors import UserError


def write(folder: Path, groups: list[str]) -> str:
    folder.mkdir(parents=True)
    for number, group in enumerate(groups, start=1):
        record = {
            "question": "Is it so?",
            "content": {"source_1": "Yes, it is.", "source_2": f"No, says {number}."},
            "answer": "Yes",
            "accuracy_labels": [True, False],
            "group": group,
        }
        (folder / f"{number}.json").write_text(json.dumps(record), encoding="utf-8")
    return str(folder)


def build(path: str, *, share: float = 0.2, seed: int = 0):
    return building.build("misinformation", path, calibration_share=share, seed=seed)


def calibration(examples):
    return {e.group for e in examples if e.tags["part"] == "calibration"}


def test_each_conflict_is_followed_by_its_twin(tmp_path):
    examples = build(write(tmp_path / "a", ["u", "v"]), share=0.5)
    assert [e.id for e in examples] == [
        "misinformation-1",
        "misinformation-1-consistent",
        "misinformation-2",
        "misinformation-2-consistent",
    ]
    assert [e.tags["twin"] for e in examples] == ["conflict", "consistent"] * 2
    assert {e.tags["conflict_type"] for e in examples} == {"misinformation"}
    assert [e.group for e in examples] == ["u", "u", "v", "v"]
    assert [len(e.sources) for e in examples] == [2, 1, 2, 1]


@pytest.mark.parametrize(("share", "expected"), [(0.01, 1), (0.2, 5), (0.5, 12), (0.99, 23)])
def test_small_sets_have_the_exact_share_with_both_parts_non_empty(tmp_path, share, expected):
    path = write(tmp_path / "a", [f"g{n}" for n in range(24)])
    for seed in range(5):
        assert len(calibration(build(path, share=share, seed=seed))) == expected


def test_variants_of_one_base_stay_on_one_side_and_twins_with_their_conflict(tmp_path):
    path = write(tmp_path / "a", [f"g{n % 7}" for n in range(30)])
    for seed in range(20):
        examples = build(path, share=0.4, seed=seed)
        parts: dict[str, set[str]] = {}
        for example in examples:
            parts.setdefault(example.group, set()).add(example.tags["part"])
        assert all(len(found) == 1 for found in parts.values())
        share = sum(e.tags["part"] == "calibration" for e in examples) / len(examples)
        # The largest group has 5 of 30 instances, so no cut is off by more than half of it.
        assert abs(share - 0.4) <= 2.5 / 30 + 1e-9


def test_the_split_depends_on_group_and_seed_alone(tmp_path):
    groups = [f"g{n}" for n in range(20)]
    forward = build(write(tmp_path / "a", groups))
    backward = build(write(tmp_path / "b", groups[::-1]))
    assert calibration(forward) == calibration(backward)
    assert len({frozenset(calibration(build(str(tmp_path / "a"), seed=s))) for s in range(9)}) > 1


def test_one_group_cannot_be_split(tmp_path):
    with pytest.raises(UserError, match="two or more groups"):
        build(write(tmp_path / "a", ["g", "g"]))


def test_an_instance_without_a_twin_stops_the_build_by_name(tmp_path):
    path = Path(write(tmp_path / "a", ["u", "v"]))
    record = json.loads((path / "2.json").read_text(encoding="utf-8"))
    (path / "2.json").write_text(json.dumps({**record, "accuracy_labels": [True, True]}))
    with pytest.raises(UserError, match="misinformation-2"):
        build(str(path), share=0.5)
