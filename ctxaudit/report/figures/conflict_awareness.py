"""Conflict awareness layer by layer, beside what a prompt's length gives away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxaudit.report import estimates, style
from ctxaudit.report.frames import Frames

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STUDY = "conflict"
READS = ("probes",)

_LOWEST = 0.45
"""The axis of AUC begins a little below chance, or where the lowest band ends."""

_MARGIN = 0.03


@style.styled
def draw(frames: Frames) -> Figure:
    """A panel per conflict type and a line per model (paper, figure 2).

    One panel per type, since the length baselines of several types often coincide.
    """
    probes = frames["probes"]
    groups = list(probes.groupby("conflict_type"))
    if not groups:
        return style.message("No probes.")
    models = sorted(probes["model"].unique())
    lowest = min([_LOWEST, *estimates.defined(probes["auc"] - probes["auc_sd"].fillna(0))])
    figure, axes = style.panels(len(groups), width=3.2, height=2.5)
    for panel, (conflict_type, found) in zip(axes, groups, strict=True):
        for number, model in enumerate(models):
            _curve(panel, found[found["model"] == model], number, model)
        panel.axhline(0.5, color=style.GREY, linestyle=":", label="chance")
        panel.set_ylim(max(lowest, 0) - _MARGIN, 1 + _MARGIN)
        panel.set_xlim(-0.5, found["layer"].max() + 0.5)
        panel.set_xlabel("layer (0: embeddings)")
        panel.set_ylabel("AUC")
        panel.set_title(f"{conflict_type} (pairs: {found['num_pairs'].max()})")
    style.legend_below(figure, axes[0])
    return figure


def _curve(axes: Axes, probes: pd.DataFrame, number: int, model: str) -> None:
    from matplotlib import patheffects

    color = style.COLORS[number % len(style.COLORS)]
    layers = probes[probes["layer"] >= 0].sort_values("layer")
    auc, spread = layers["auc"].astype(float), layers["auc_sd"].astype(float)
    if auc.isna().all():
        height = 0.3 - 0.1 * number
        axes.text(
            0.5, height, f"{model}: undefined", transform=axes.transAxes, ha="center", color=color
        )
    marker = style.MARKERS[number % len(style.MARKERS)]
    steps = layers["layer"].astype(int)
    axes.plot(steps, auc, color=color, marker=marker, markersize=3.5, label=model)
    # An AUC lies in [0, 1], a mean less or plus its deviation need not.
    low, high = (auc - spread).clip(lower=0), (auc + spread).clip(upper=1)
    axes.fill_between(steps, low, high, color=color, alpha=0.18, linewidth=0)
    # Baselines of several models often coincide: dashes of one fall into the gaps of the other.
    dashes = (4.0 * number, (4.0, 4.0))
    for length in probes.loc[probes["layer"] < 0, "auc"].dropna():
        axes.axhline(
            length,
            color=color,
            linestyle=dashes,
            label=f"{model}, length alone",
            # Also to be seen where the curve runs along it.
            zorder=3,
            path_effects=[patheffects.withStroke(linewidth=2.6, foreground="white")],
        )
