"""Consistency across models against task-level quality, one point per method."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ctxaudit.report import estimates, style
from ctxaudit.report.frames import Frames
from ctxaudit.report.measures import Measure, measure, parameter_values

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STUDY = "overlap"
READS = ("metrics",)

Points = dict[str, list[Measure]]
"""CAC, BCS and CAC of chance by method."""

_LEAST_SPAN = 0.2
"""An axis shows at least so much, lest small differences look large."""


@style.styled
def draw(frames: Frames) -> Figure:
    """A panel per dataset and model, at the smallest k and persistence (paper, figure 5)."""
    metrics = frames["metrics"]
    metrics = metrics[
        ((metrics["metric"] == "bcs") & (metrics["variant"] == "base"))
        | metrics["metric"].isin(["cac", "cac_chance"])
    ]
    groups = list(metrics.groupby(["dataset", "model"]))
    if not groups:
        return style.message("No values of BCS or CAC.")
    k, rho = (next(iter(parameter_values(metrics, name)), "") for name in ("k", "rho"))
    panels = [_points(found, sorted(metrics["method"].unique()), k, rho) for _, found in groups]
    shown = [items for points in panels for items in points.values()]
    # The same for all panels, so that they compare.
    cac_limits = limits(item.value for cac, _, chance in shown for item in (cac, chance))
    bcs_limits = limits(bcs.value for _, bcs, _ in shown)
    figure, axes = style.panels(len(groups))
    for panel, ((dataset, model), _), points in zip(axes, groups, panels, strict=True):
        _scatter(panel, points)
        num = max(item.num_examples for items in points.values() for item in items)
        panel.set_title(f"{model} on {dataset} (n = {num})")
        panel.set_xlabel(f"CAC (rho = {rho})")
        panel.set_ylabel(f"BCS (k = {k})")
        panel.set_xlim(cac_limits)
        panel.set_ylim(bcs_limits)
    style.legend_below(figure, axes[0])
    return figure


def limits(values: Iterable[float]) -> tuple[float, float]:
    """Ends of an axis that holds the defined values with a margin; 0 to 1 without any."""
    known = estimates.defined(values)
    if not known.size:
        return 0.0, 1.0
    span = max(float(known.max() - known.min()), _LEAST_SPAN)
    middle = float(known.max() + known.min()) / 2
    return middle - 0.6 * span, middle + 0.6 * span


def _points(metrics: pd.DataFrame, methods: list[str], k: str, rho: str) -> Points:
    return {
        method: [
            measure(metrics[metrics["method"] == method], name, k=k, rho=rho)
            for name in ("cac", "bcs", "cac_chance")
        ]
        for method in methods
    }


def _scatter(axes: Axes, points: Points) -> None:
    missing = []
    for number, (method, (cac, bcs, _)) in enumerate(points.items()):
        axes.scatter(
            [cac.value],
            [bcs.value],
            s=70,
            # Hollow: a point that lies under others is still seen.
            facecolors="none",
            edgecolors=style.COLORS[number % len(style.COLORS)],
            linewidths=1.8,
            marker=style.MARKERS[number % len(style.MARKERS)],
            label=method,
            zorder=3,
        )
        if math.isnan(cac.value + bcs.value):
            missing.append(method)
    # Equal for all methods but for examples that a method could not score.
    chance = estimates.mean(chance.value for _, _, chance in points.values())
    if not math.isnan(chance):
        axes.axvline(chance, color=style.GREY, linestyle="--", label="CAC of chance")
    if missing:
        note = "undefined:\n" + "\n".join(missing)
        axes.text(0.98, 0.98, note, transform=axes.transAxes, ha="right", va="top", fontsize=8)
