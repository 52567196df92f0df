import csv
import itertools
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import report_frames
from matplotlib.text import Text

from ctxaudit import plugins
from ctxaudit.report import formats, frames

TABLES = plugins.available("report.tables")
FIGURES = plugins.available("report.figures")
MODULES = [("report.tables", name) for name in TABLES]
MODULES += [("report.figures", name) for name in FIGURES]
CASES = {
    "full": report_frames.full(),
    "one method": report_frames.one_method(),
    "undefined": report_frames.undefined(),
    "empty": report_frames.empty(),
}
# Whose replies each kind of artifact rests on: the judge chose the segments of the contexts, the
# generator smoothed them, the model answered. Probes read the states of prompts without a reply.
RESTS_ON = {
    "metrics": {"judge", "generator"},
    "recall": {"judge", "generator"},
    "scores": {"judge", "generator"},
    "examples": {"judge", "generator"},
    "candidates": {"judge"},
    "conflict_accuracy": {"model"},
    "balance": {"model"},
    "probes": set(),
}
RECORDED_IN = {"judge": "reason", "generator": "smoothing_outcome", "model": "finish"}
CAPTIONS = Path(__file__).parents[2] / "workflow/report"


def read_by(module, case: str) -> dict[str, pd.DataFrame]:
    return {kind: CASES[case][kind].copy() for kind in module.READS}


@pytest.mark.parametrize(("kind", "name"), MODULES)
def test_it_names_its_study_and_artifacts_that_exist(kind: str, name: str):
    module = plugins.load(kind, name)
    assert module.STUDY in {"overlap", "conflict"}
    assert name.startswith(module.STUDY)
    assert set(module.READS) <= set(frames.COLUMNS)


@pytest.mark.parametrize(("kind", "name"), MODULES)
def test_it_has_a_caption(kind: str, name: str):
    assert len((CAPTIONS / f"{name}.rst").read_text("utf-8")) > 200


@pytest.mark.parametrize(("name", "case"), itertools.product(TABLES, CASES))
def test_every_row_counts_its_examples_and_its_undefined_values_with_their_reasons(
    name: str, case: str
):
    module = plugins.load("report.tables", name)
    table = module.build(read_by(module, case))
    assert list(table.columns) == list(dict.fromkeys(table.columns))
    assert {"n", "undefined", "reasons"} <= set(table.columns)
    assert table[["n", "undefined", "reasons"]].notna().all(axis=None)
    values = table.drop(columns=["n", "undefined"]).select_dtypes("number")
    missing = (table["undefined"] > 0) | values.isna().any(axis=1)
    assert (table.loc[missing, "reasons"] != "").all()
    assert (table["undefined"] >= 0).all()
    assert len(table) == 0 if case == "empty" else len(table) > 0
    if case == "undefined":
        assert (table["undefined"] > 0).any()


def test_it_is_stated_for_every_artifact_whose_replies_it_rests_on():
    assert set(RESTS_ON) == set(frames.COLUMNS)


@pytest.mark.parametrize("outcome", ["refusal", "length", "unparsable", "invalid", "error"])
@pytest.mark.parametrize("name", TABLES)
def test_a_table_says_how_the_replies_ended_that_it_rests_on(name: str, outcome: str):
    module = plugins.load("report.tables", name)
    given = read_by(module, "full")
    for frame in given.values():
        for column in frame.columns.intersection([*RECORDED_IN.values()]):
            frame[column] = outcome
    table = module.build(given)
    roles = set().union(*(RESTS_ON[kind] for kind in module.READS))
    shown = {head.removesuffix("_outcomes") for head in table if head.endswith("_outcomes")}
    assert shown == roles
    for role in roles:
        replies = table[f"{role}_replies"]
        assert (replies > 0).all()
        assert (table[f"{role}_faulty"] == replies).all()
        assert (table[f"{role}_faulty_rate"] == 1).all()
        assert (table[f"{role}_outcomes"] == [f"{outcome}: {n} (100 %)" for n in replies]).all()


@pytest.mark.parametrize("name", TABLES)
def test_a_table_does_not_change_what_it_reads(name: str):
    module = plugins.load("report.tables", name)
    before = read_by(module, "full")
    given = read_by(module, "full")
    module.build(given)
    for kind, frame in given.items():
        pd.testing.assert_frame_equal(frame, before[kind])


@pytest.mark.parametrize(("name", "case"), itertools.product(TABLES, CASES))
def test_a_table_is_written_in_three_formats(name: str, case: str, tmp_path: Path):
    module = plugins.load("report.tables", name)
    table = module.build(read_by(module, case))
    paths = {kind: tmp_path / f"t.{kind}" for kind in ("csv", "markdown", "latex")}
    formats.write_table(table, **paths)
    with paths["csv"].open(encoding="utf-8", newline="") as stream:
        assert len(list(csv.reader(stream))) == len(table) + 1
    assert "nan" not in re.findall(r"\w+", paths["markdown"].read_text("utf-8"))
    assert paths["latex"].read_text("utf-8").count(r"\\") == len(table) + 1


@pytest.mark.parametrize(("name", "case"), itertools.product(FIGURES, CASES))
def test_a_figure_is_laid_out_from_any_frames_and_says_what_is_undefined(name: str, case: str):
    module = plugins.load("report.figures", name)
    figure = module.draw(read_by(module, case))
    # Warnings are errors here: a legend without entries or a panel without room would fail.
    figure.draw_without_rendering()
    texts = [item.get_text() for item in figure.findobj(Text) if item.get_visible()]
    if case == "undefined":
        assert any("undefined" in text for text in texts)
    if case == "empty":
        assert any(text.startswith("No ") for text in texts)
    if case == "full":
        assert any(re.search(r"(n ?=|pairs:) ?\d", text) for text in texts)


def test_the_modules_import_without_pandas_or_matplotlib():
    names = [f"ctxaudit.{kind}.{name}" for kind, name in MODULES]
    code = f"import sys, importlib\nfor n in {names!r}: importlib.import_module(n)\n"
    code += "assert not {'pandas', 'matplotlib', 'scipy'} & set(sys.modules), 'heavy import'"
    subprocess.run([sys.executable, "-c", code], check=True)
