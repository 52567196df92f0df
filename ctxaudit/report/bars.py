"""Bars of several series side by side."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ctxaudit.report.style import COLORS, GREY, HATCHES

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def grouped_bars(
    axes: Axes,
    groups: Sequence[str],
    series: Mapping[str, Sequence[float]],
    intervals: Mapping[str, Sequence[tuple[float, float]]] | None = None,
) -> None:
    """Bars of each series side by side per group; 0 and undefined values are marked as such.

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
                continue
            if intervals and not math.isnan(intervals[name][place][0]):
                axes.vlines(x, *intervals[name][place], color="black", linewidth=1)
            if height == 0:
                _mark_zero(axes, x, width, COLORS[number % len(COLORS)])
    axes.set_xticks(range(len(groups)), wrapped(groups))
    axes.set_xlim(-0.6, max(len(groups), 1) - 0.4)


def mark_undefined(axes: Axes, x: float) -> None:
    """Say that the bar or box at `x` has no value."""
    axes.text(x, 0.02, "undefined", rotation=90, ha="center", va="bottom", color=GREY)


def wrapped(names: Sequence[str]) -> list[str]:
    """Names for an axis, broken into lines so that neighbours stay apart."""
    return [
        "\n".join(
            part
            for line in name.replace("_", " ").splitlines()
            for part in textwrap.wrap(line, 12, break_long_words=False)
        )
        for name in names
    ]


def _mark_zero(axes: Axes, x: float, width: float, color: str) -> None:
    """A stroke in the series' colour and a 0 above it: a bar without height is not to be seen."""
    axes.hlines(0, x - 0.45 * width, x + 0.45 * width, color=color, linewidth=4)
    axes.annotate(
        "0",
        (x, 0),
        xytext=(0, 5),
        textcoords="offset points",
        ha="center",
        va="bottom",
        # Over the line of an interval that begins at 0.
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
    )
