import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ctxaudit.report import formats

HOSTILE = "a_b&c%|<script>"


def write(table: pd.DataFrame, folder: Path) -> dict[str, str]:
    paths = {kind: folder / f"t.{kind}" for kind in ("csv", "markdown", "latex")}
    formats.write_table(table, **paths)
    return {kind: path.read_text("utf-8") for kind, path in paths.items()}


def test_hostile_names_are_escaped_for_each_format(tmp_path: Path):
    table = pd.DataFrame({"model": [HOSTILE], HOSTILE: [1.0]})
    texts = write(table, tmp_path)
    assert texts["markdown"].count(r"a_b&amp;c%\|&lt;script&gt;") == 1
    assert "<script>" not in texts["markdown"]
    # Unescaped pipes are the three of each line and no others.
    for line in texts["markdown"].splitlines():
        assert line.replace(r"\|", "").count("|") == 3
    assert r"a\_b\&c\%\textbar{}\textless{}script\textgreater{}" in texts["latex"]
    assert next(csv.reader(texts["csv"].splitlines()[1:]))[0] == HOSTILE


@pytest.mark.parametrize("character", list("\\{}$&%#_~^"))
def test_no_latex_character_is_left_bare(character: str, tmp_path: Path):
    line = write(pd.DataFrame({"name": [character]}), tmp_path)["latex"].splitlines()[4]
    cell = line.removesuffix(r" \\")
    assert cell != character
    assert cell.startswith("\\")


def test_line_breaks_in_a_cell_do_not_break_the_table(tmp_path: Path):
    texts = write(pd.DataFrame({"reason": ["first\nsecond\r\n\tthird"]}), tmp_path)
    assert "first second third" in texts["markdown"]
    assert r"first second third \\" in texts["latex"]


def test_numbers_are_rounded_at_writing_only(tmp_path: Path):
    table = pd.DataFrame({"value": [1 / 3], "n": [7]})
    texts = write(table, tmp_path)
    assert float(texts["csv"].splitlines()[1].split(",")[0]) == 1 / 3
    assert "0.333 |" in texts["markdown"]
    assert r"0.333 & 7 \\" in texts["latex"]


def test_an_undefined_value_is_a_dash_and_empty_in_the_csv(tmp_path: Path):
    table = pd.DataFrame({"k": pd.array([1, None], dtype="Int64"), "value": [np.nan, 2.0]})
    texts = write(table, tmp_path)
    assert texts["csv"] == "k,value\n1,\n,2.0\n"
    assert texts["markdown"].splitlines()[2].split("|")[2].strip() == "–"
    assert texts["latex"].splitlines()[4] == r"1 & -- \\"


def test_a_failing_write_leaves_the_old_table(tmp_path: Path):
    class Unprintable:
        def __str__(self) -> str:
            raise RuntimeError

    write(pd.DataFrame({"value": [1.0]}), tmp_path)
    before = (tmp_path / "t.markdown").read_text("utf-8")
    table = pd.DataFrame({"value": pd.Series([Unprintable()], dtype=object)})
    with pytest.raises(RuntimeError):
        formats.write_table(
            table, csv=tmp_path / "t.csv", markdown=tmp_path / "t.markdown", latex=tmp_path / "x"
        )
    assert (tmp_path / "t.markdown").read_text("utf-8") == before
    assert not list(tmp_path.glob(".*"))
