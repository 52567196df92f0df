"""Consistency across models against task-level quality, one point per method."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ctxaudit.report import estimates, style
from ctxaudit.report.frames import Frames
from ctxaudit.report.measures import Measure, measure, parameter_values

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STUDY = "overlap"
READS = ("metrics",)


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
    methods = sorted(metrics["method"].unique())
    figure, axes = style.panels(len(groups))
    for panel, ((dataset, model), found) in zip(axes, groups, strict=True):
        points = {
            method: [
                measure(found[found["method"] == method], name, k=k, rho=rho)
                for name in ("cac", "bcs", "cac_chance")
            ]
            for method in methods
        }
        _scatter(panel, points)
        num = max(item.num_examples for items in points.values() for item in items)
        panel.set_title(f"{model} on {dataset} (n = {num})")
        panel.set_xlabel(f"CAC (rho = {rho})")
        panel.set_ylabel(f"BCS (k = {k})")
    style.legend_below(figure, axes[0])
    return figure


def _scatter(axes: Axes, points: dict[str, list[Measure]]) -> None:
    missing = []
    for number, (method, (cac, bcs, _)) in enumerate(points.items()):
        look: Any = {"color": style.COLORS[number % 7], "marker": style.MARKERS[number % 7]}
        axes.scatter([cac.value], [bcs.value], s=55, label=method, zorder=3, **look)
        if math.isnan(cac.value + bcs.value):
            missing.append(method)
    # Equal for all methods but for examples that a method could not score.
    chance = estimates.mean(chance.value for _, _, chance in points.values())
    if not math.isnan(chance):
        axes.axvline(chance, color=style.GREY, linestyle="--", label="CAC of chance")
    if missing:
        note = "undefined:\n" + "\n".join(missing)
        axes.text(0.98, 0.98, note, transform=axes.transAxes, ha="right", va="top", fontsize=8)
    axes.set_xlim(-0.03, 1.03)
    highest = max([1.0, *estimates.defined(bcs.value for _, bcs, _ in points.values())])
    axes.set_ylim(-0.03, highest * 1.05)
