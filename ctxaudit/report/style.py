"""The common look of all figures: colours that the colour-blind tell apart, and hatches in grey."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
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


def styled(draw: Callable[[Frames], Figure]) -> Callable[[Frames], Figure]:
    """A drawing function that works under the common settings."""

    @functools.wraps(draw)
    def draw_styled(frames: Frames) -> Figure:
        with _look():
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


def write(figure: Figure, *, pdf: str | Path, png: str | Path) -> None:
    """The figure as PDF and PNG; equal figures give equal bytes."""
    from ctxaudit.artifacts.writing import replacing

    with _look():
        with replacing(pdf) as new:
            figure.savefig(new, format="pdf", metadata={"CreationDate": None})
        with replacing(png) as new:
            figure.savefig(new, format="png", metadata={"Software": None})


@contextlib.contextmanager
def _look() -> Iterator[None]:
    """The common settings, for drawing and for writing."""
    import matplotlib as mpl

    with mpl.rc_context(_PARAMETERS):
        yield
