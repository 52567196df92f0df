import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from ctxaudit.config.root import load

ROOT = Path(__file__).parents[2]
SETTINGS = yaml.safe_load((ROOT / "config/paper.yaml").read_text(encoding="utf-8"))
NOT_BUILT = "not built yet"


class Row(NamedTuple):
    setting: str
    value: str
    place: str
    key: str
    note: str

    @property
    def keys(self) -> list[str]:
        return re.findall(r"`([^`]+)`", self.key)


def read_rows() -> list[Row]:
    lines = (ROOT / "docs/paper_settings.md").read_text(encoding="utf-8").splitlines()
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in lines if line[:1] == "|"]
    return [Row(*row) for row in cells if row[0] != "setting" and set(row[0]) != {"-"}]


ROWS = read_rows()
KEYED = [(row, key) for row in ROWS for key in row.keys]


def resolve(key: str) -> Any:
    found = SETTINGS
    for part in key.split("."):
        found = found[int(part)] if isinstance(found, list) else found[part]
    return found


def leaves(value: Any, key: str = "") -> Iterator[str]:
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from leaves(inner, f"{key}.{name}" if key else name)
    else:
        yield key


def test_the_papers_configuration_is_valid():
    load(ROOT / "config/paper.yaml")


@pytest.mark.parametrize(("row", "key"), KEYED, ids=[key for _, key in KEYED])
def test_the_configuration_says_what_the_table_says(row: Row, key: str):
    stated = re.fullmatch(r"`([^`]+)`", row.value)
    assert stated, f"the value of a row with a key must be one code span: {row.value}"
    assert resolve(key) == yaml.safe_load(stated[1])


def test_every_row_has_a_key_or_a_file_or_is_not_built():
    for row in ROWS:
        assert row.setting
        assert row.value
        assert row.place
        assert row.keys or row.key == NOT_BUILT or row.key.startswith("code: "), row


def test_files_that_hold_a_definition_exist():
    listed = [row.key.removeprefix("code: ") for row in ROWS if row.key.startswith("code: ")]
    files = {name for names in listed for name in names.split(", ")}
    assert sorted(name for name in files if not (ROOT / name).is_file()) == []


def test_every_setting_is_in_the_table():
    keys = {key for _, key in KEYED}
    unlisted = [
        leaf
        for leaf in leaves(SETTINGS)
        if not any(leaf == key or leaf.startswith(f"{key}.") for key in keys)
    ]
    assert unlisted == []


def test_no_key_stands_in_two_rows():
    keys = [key for _, key in KEYED]
    assert sorted(keys) == sorted(set(keys))


def test_silence_of_the_papers_is_marked_as_our_choice():
    silent = [row for row in ROWS if row.place == "–"]
    assert silent
    assert [row for row in silent if row.keys and not row.note.startswith("our choice")] == []


def test_what_is_not_built_is_listed(capsys: pytest.CaptureFixture[str]):
    missing = [f"{row.setting}: {row.value}" for row in ROWS if row.key == NOT_BUILT]
    with capsys.disabled():
        print(f"\n{len(missing)} settings of the papers are not built yet:", *missing, sep="\n  ")
