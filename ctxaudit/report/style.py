"""The common look of all figures: colours that the colour-blind tell apart, and hatches in grey."""

from __future__ import annotations

import contextlib
import functools
import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ctxaudit.report.frames import Frames

COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#7F7F7F")
"""Palette of Okabe and Ito (2008), its yellow and black left out, with a grey."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "++++", "oooo")
GREY = "#555555"

_PARAMETERS: Any = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "#dddddd",
    "legend.frameon": False,
    "legend.fontsize": 8,
    "hatch.linewidth": 0.6,
    "pdf.fonttype": 42,
    "svg.hashsalt": "ctxaudit",
    "text.parse_math": False,
    "savefig.dpi": 150,
}


@contextlib.contextmanager
def look() -> Iterator[None]:
    """The common settings, for drawing and for writing."""
    import matplotlib as mpl

    with mpl.rc_context(_PARAMETERS):
        yield


def styled(draw: Callable[[Frames], Figure]) -> Callable[[Frames], Figure]:
    """A drawing function that works under the common settings."""

    @functools.wraps(draw)
    def draw_styled(frames: Frames) -> Figure:
        with look():
            return draw(frames)

    return draw_styled


def panels(
    num: int, *, width: float = 4.6, height: float = 3.4, num_columns: int = 3
) -> tuple[Figure, list[Axes]]:
    """A figure with `num` panels, in rows of at most `num_columns`; width and height in inches."""
    from matplotlib.figure import Figure

    columns = min(num, num_columns)
    rows = -(-num // columns)
    figure = Figure(figsize=(width * columns, height * rows + 0.4), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for spare in grid[num:]:
        spare.set_axis_off()
    return figure, list(grid[:num])


def message(text: str) -> Figure:
    """A figure that says why there is nothing to see."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6, 2.4), layout="constrained")
    figure.text(0.5, 0.5, text, ha="center", va="center", wrap=True, color=GREY)
    return figure


def legend_below(figure: Figure, axes: Axes) -> None:
    """One legend for the whole figure, under the panels, from the entries of one of them."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        # An entry of about 20 letters takes two inches.
        num_columns = int(figure.get_figwidth() / 2)
        figure.legend(handles, labels, loc="outside lower center", ncols=num_columns)


def grouped_bars(
    axes: Axes,
    groups: Sequence[str],
    series: Mapping[str, Sequence[float]],
    intervals: Mapping[str, Sequence[tuple[float, float]]] | None = None,
) -> None:
    """Bars of each series side by side per group; an undefined value is marked as such.

    Args:
        axes: Where to draw.
        groups: Names on the horizontal axis.
        series: One value per group.
        intervals: Lower and upper end per group, NaN where there is none.
    """
    width = 0.8 / max(len(series), 1)
    for number, (name, heights) in enumerate(series.items()):
        for place, height in enumerate(heights):
            x = place + (number - (len(series) - 1) / 2) * width
            axes.bar(
                x,
                height,
                width,
                color=COLORS[number % len(COLORS)],
                hatch=HATCHES[number % len(HATCHES)],
                edgecolor="white",
                label=name if place == 0 else "",
            )
            if math.isnan(height):
                mark_undefined(axes, x)
            elif intervals and not math.isnan(intervals[name][place][0]):
                axes.vlines(x, *intervals[name][place], color="black", linewidth=1)
    axes.set_xticks(range(len(groups)), wrapped(groups))
    axes.set_xlim(-0.6, max(len(groups), 1) - 0.4)


def mark_undefined(axes: Axes, x: float) -> None:
    """Say that the bar or box at `x` has no value."""
    axes.text(x, 0.02, "undefined", rotation=90, ha="center", va="bottom", color=GREY)


def wrapped(names: Sequence[str]) -> list[str]:
    """Names for an axis, broken into lines so that neighbours stay apart."""
    return [
        "\n".join(textwrap.wrap(name.replace("_", " "), 12, break_long_words=False))
        for name in names
    ]
