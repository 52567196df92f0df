"""Source separation of the attribution methods, with the line of chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxaudit.report import bars, style
from ctxaudit.report.frames import Frames
from ctxaudit.report.measures import measure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STUDY = "overlap"
READS = ("metrics",)


@style.styled
def draw(frames: Frames) -> Figure:
    """A panel per dataset and model: SSP and AUC per method (paper, figure 2)."""
    metrics = frames["metrics"]
    metrics = metrics[metrics["metric"].isin(["ssp", "auc"]) & (metrics["variant"] == "tuned")]
    groups = list(metrics.groupby(["dataset", "model"]))
    if not groups:
        return style.message("No values of source separation.")
    figure, axes = style.panels(len(groups))
    for panel, ((dataset, model), found) in zip(axes, groups, strict=True):
        methods = sorted(found["method"].unique())
        series = {
            label: [measure(found[found["method"] == method], name).value for method in methods]
            for name, label in (("ssp", "SSP"), ("auc", "AUC within a question"))
        }
        bars.grouped_bars(panel, methods, series)
        panel.axhline(0.5, color=style.GREY, linestyle="--", label="chance")
        panel.set_ylim(0, 1.03)
        panel.set_ylabel("source separation")
        panel.set_title(f"{model} on {dataset} (n = {found['num_examples'].max()} learned)")
    style.legend_below(figure, axes[0])
    return figure
