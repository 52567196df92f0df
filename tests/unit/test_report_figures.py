import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.figure import Figure

from ctxaudit import plugins
from ctxaudit.report import bars
from ctxaudit.report.figures import overlap_cac_bcs
from ctxaudit.report.frames import COLUMNS

NAN = float("nan")


def draw(name: str, **rows: list[tuple]) -> list[Axes]:
    frames = {kind: pd.DataFrame(found, columns=COLUMNS[kind]) for kind, found in rows.items()}
    return plugins.load("report.figures", name).draw(frames).axes


def ticks(axes: Axes) -> list[str]:
    return [label.get_text() for label in axes.get_xticklabels()]


def test_each_position_of_the_evidence_has_its_number_of_examples():
    rows = [
        ("tiny", "none", "e", "ambiguity", len(shares), shares, shares, 0.5, 1.0, "stop", "")
        for shares in ([0.5, 0.5], [0.2, 0.3, 0.5], [1.0, 0.0])
    ]
    (panel,) = draw("conflict_shares", balance=rows)
    assert ticks(panel) == ["1\nn = 3", "2\nn = 3", "3\nn = 1"]


def test_bands_of_auc_end_where_auc_does():
    rows = [
        ("tiny", "temporal", layer, auc, 0.3, 12, 5, True, "")
        for layer, auc in enumerate((0.1, 0.5, 0.95))
    ]
    (panel,) = draw("conflict_awareness", probes=rows)
    (band,) = [item for item in panel.collections if isinstance(item, PolyCollection)]
    heights = band.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (0.0, 1.0)
    bottom, top = panel.get_ylim()
    assert bottom < 0
    assert top > 1


def test_the_axis_of_auc_begins_below_chance():
    rows = [("tiny", "temporal", layer, 0.9, 0.05, 12, 5, True, "") for layer in range(3)]
    (panel,) = draw("conflict_awareness", probes=rows)
    assert 0.3 < panel.get_ylim()[0] < 0.5


@pytest.mark.parametrize(("height", "mark"), [(0.0, ["0"]), (NAN, ["undefined"]), (0.4, [])])
def test_a_bar_of_no_height_is_told_from_one_without_value(height: float, mark: list[str]):
    axes = Figure().add_subplot()
    bars.grouped_bars(axes, ["group"], {"series": [height]}, {"series": [(NAN, NAN)]})
    assert [text.get_text() for text in axes.texts] == mark
    # The stroke that stands for a bar of height 0.
    assert len(axes.collections) == (height == 0)


def test_lines_of_a_name_stay_lines():
    assert bars.wrapped(["temporal\nn = 4", "token_shapley"]) == [
        "temporal\nn = 4",
        "token\nshapley",
    ]


def test_methods_with_equal_values_are_all_seen():
    rows = [
        ("demo", "tiny", metric, method, variant, parameter, value, "", 24, 0)
        for method in ("attribot", "contextcite")
        for metric, variant, parameter, value in (
            ("bcs", "base", "k=1", 0.41),
            ("cac", "both", "rho=0.5", 0.74),
            ("cac_chance", "both", "rho=0.5", 0.47),
        )
    ]
    (panel,) = draw("overlap_cac_bcs", metrics=rows)
    points = [item for item in panel.collections if isinstance(item, PathCollection)]
    assert len(points) == 2
    assert not any(point.get_facecolor().size for point in points)
    assert points[0].get_paths()[0].vertices.shape != points[1].get_paths()[0].vertices.shape
    low, high = panel.get_xlim()
    assert low < 0.47
    assert high > 0.74


@pytest.mark.parametrize("values", [[0.4, 0.4, NAN], [0.1, 0.9], [1.2], [0.0]])
def test_an_axis_holds_its_values_and_not_much_more(values: list[float]):
    low, high = overlap_cac_bcs.limits(values)
    smallest, largest = np.nanmin(values), np.nanmax(values)
    assert low < smallest <= largest < high
    assert 0.2 < high - low < 1.3 * max(largest - smallest, 0.2)


def test_an_axis_without_values_is_the_whole_range():
    assert overlap_cac_bcs.limits([NAN]) == (0.0, 1.0)
