"""What every conflict type keeps to, on the demo's instances."""

import shutil
from collections import Counter
from pathlib import Path

import pytest

from ctxaudit import plugins
from ctxaudit.artifacts import records
from ctxaudit.conflict import building
from ctxaudit.datasets import contextconflict
from ctxaudit.interface import ConflictType, DatasetLoader

DEMO = Path(__file__).parents[2] / "resources" / "demo" / "conflict"
TYPES = plugins.available("conflict")
ONE_LABEL = {
    "inferential": "branch",
    "temporal": "time",
    "granularity": "level",
    "perspective": "stance",
    "ambiguity": "entity",
}


def pairs(conflict_type, *, seed=0, path=None):
    folder = str(path or DEMO / conflict_type)
    built = building.build(conflict_type, folder, calibration_share=0.2, seed=seed)
    return list(zip(built[::2], built[1::2], strict=True))


def test_the_loader_keeps_to_its_protocol():
    assert isinstance(contextconflict, DatasetLoader)


@pytest.mark.parametrize("conflict_type", TYPES)
def test_the_module_keeps_to_its_protocol(conflict_type):
    assert isinstance(plugins.load("conflict", conflict_type), ConflictType)


@pytest.mark.parametrize("conflict_type", TYPES)
def test_a_twin_is_a_strict_part_of_its_conflict_in_the_same_order(conflict_type):
    for conflict, twin in pairs(conflict_type):
        assert 0 < len(twin.sources) < len(conflict.sources)
        rest = iter(conflict.sources)
        assert all(source in rest for source in twin.sources)
        assert (twin.query, twin.task, twin.group) == (
            conflict.query,
            conflict.task,
            conflict.group,
        )
        assert twin.id == f"{conflict.id}-consistent"


@pytest.mark.parametrize("conflict_type", TYPES)
def test_a_conflict_differs_in_the_label_that_its_twin_shares(conflict_type):
    for conflict, twin in pairs(conflict_type):
        if conflict_type in ONE_LABEL:
            label = ONE_LABEL[conflict_type]
            assert len({source.attributes[label] for source in twin.sources}) == 1
            assert len({source.attributes[label] for source in conflict.sources}) > 1
        if conflict_type in ("misinformation", "temporal"):
            assert all(source.accurate for source in twin.sources)
            assert not all(source.accurate for source in conflict.sources)


@pytest.mark.parametrize("conflict_type", TYPES)
def test_the_split_is_exact_and_disjoint_by_group(conflict_type):
    for seed in range(5):
        parts: dict[str, set[str]] = {"calibration": set(), "test": set()}
        built = pairs(conflict_type, seed=seed)
        for pair in built:
            assert pair[0].tags["part"] == pair[1].tags["part"]
            parts[pair[0].tags["part"]].add(pair[0].group)
        assert not parts["calibration"] & parts["test"]
        num = sum(conflict.tags["part"] == "calibration" for conflict, _ in built)
        # Groups of the demo have one or two instances.
        assert abs(num - 0.2 * len(built)) <= 1


@pytest.mark.parametrize("conflict_type", TYPES)
def test_the_split_is_the_same_when_the_files_are_renumbered(conflict_type, tmp_path):
    files = sorted((DEMO / conflict_type).glob("*.json"))
    for number, file in enumerate(reversed(files), start=1):
        shutil.copy(file, tmp_path / f"{number}.json")
    original, renumbered = (
        {c.group: c.tags["part"] for c, _ in pairs(conflict_type, path=path)}
        for path in (None, tmp_path)
    )
    assert original == renumbered


@pytest.mark.parametrize("conflict_type", TYPES)
def test_examples_survive_being_written_and_read(conflict_type, tmp_path):
    examples = [example for pair in pairs(conflict_type) for example in pair]
    assert len({example.id for example in examples}) == len(examples)
    records.write_examples(tmp_path / "examples.jsonl", examples)
    assert records.read_examples(tmp_path / "examples.jsonl") == examples


@pytest.mark.parametrize("conflict_type", TYPES)
def test_the_demo_has_enough_short_instances_that_are_all_different(conflict_type):
    conflicts = [conflict for conflict, _ in pairs(conflict_type)]
    assert len(conflicts) >= 24
    texts = Counter((c.query, *sorted(s.text for s in c.sources)) for c in conflicts)
    assert max(texts.values()) == 1
    for conflict in conflicts:
        assert 2 <= len(conflict.sources) <= 4
        assert all(15 <= len(source.text.split()) <= 40 for source in conflict.sources)
        if conflict.task == "reasoning":
            assert conflict.gold
            assert len(conflict.gold.split()) <= 2


@pytest.mark.parametrize("conflict_type", TYPES)
def test_the_place_of_the_kept_evidence_carries_no_signal_in_the_demo(conflict_type):
    built = pairs(conflict_type)
    for end in (0, -1):
        observed = sum(conflict.sources[end] in twin.sources for conflict, twin in built)
        expected = sum(len(twin.sources) / len(conflict.sources) for conflict, twin in built)
        # At most 24 coin throws: their standard deviation is below 2.5.
        assert abs(observed - expected) <= 5
