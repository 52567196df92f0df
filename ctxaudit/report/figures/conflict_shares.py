"""Which position in the prompt contributes how much to a summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxaudit.report import estimates, style
from ctxaudit.report.frames import Frames

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STUDY = "conflict"
READS = ("balance",)


@style.styled
def draw(frames: Frames) -> Figure:
    """A panel per model and conflict type, unsteered responses (paper, figure 23)."""
    balance = frames["balance"]
    groups = list(balance[balance["steering"] == "none"].groupby(["model", "conflict_type"]))
    if not groups:
        return style.message("No contributions of evidence.")
    figure, axes = style.panels(len(groups), width=3.6, height=2.8)
    for panel, ((model, conflict_type), found) in zip(axes, groups, strict=True):
        known = found[found["balance"].notna()]
        counts = f"n = {len(found)}, undefined: {len(found) - len(known)}"
        panel.set_title(f"{conflict_type}, {model}\n({counts})")
        panel.set_xlabel("position of the evidence")
        panel.set_ylabel("share of contribution")
        panel.set_ylim(0, 1.03)
        if known.empty:
            panel.set_xticks([])
            panel.text(0.5, 0.5, "undefined", transform=panel.transAxes, ha="center")
            continue
        _bars(panel, known)
    style.legend_below(figure, axes[0])
    return figure


def _bars(axes: Axes, balance: pd.DataFrame) -> None:
    """Mean share at each position over the examples that have it, and what equal shares give."""
    shares = [list(row) for row in balance["shares"]]
    longest = max(map(len, shares))
    counts = []
    for place in range(longest):
        there = [row for row in shares if len(row) > place]
        counts.append(len(there))
        values = [row[place] for row in there]
        first = place == 0
        axes.bar(
            place + 1,
            estimates.mean(values),
            0.7,
            color=style.COLORS[0],
            label="mean share" if first else "",
        )
        axes.vlines(
            place + 1,
            *estimates.bootstrap_interval(values, seed=estimates.SEED),
            color="black",
            label="95 % interval" if first else "",
        )
        equal = estimates.mean(1 / len(row) for row in there)
        axes.hlines(
            equal,
            place + 0.6,
            place + 1.4,
            color=style.COLORS[5],
            linestyle="--",
            label="equal shares" if first else "",
        )
    names = [f"{place}\nn = {count}" for place, count in enumerate(counts, start=1)]
    axes.set_xticks(range(1, longest + 1), names)
