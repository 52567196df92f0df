"""How the distribution of attribution scores moves when the model learns the facts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ctxaudit.report import bars, estimates, style
from ctxaudit.report.frames import Frames

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STUDY = "overlap"
READS = ("scores",)

VARIANTS = ("base", "tuned")


@style.styled
def draw(frames: Frames) -> Figure:
    """A panel per dataset and model: a box per method and variant (paper, figure 3).

    Scores of different methods have no common scale, so each method's are divided by the 95th
    percentile of their size over both variants, which keeps sign and shift.
    """
    groups = list(frames["scores"].groupby(["dataset", "model"]))
    if not groups:
        return style.message("No attribution scores.")
    figure, axes = style.panels(len(groups))
    for panel, ((dataset, model), found) in zip(axes, groups, strict=True):
        methods = sorted(found["method"].unique())
        for place, method in enumerate(methods):
            _boxes(panel, place, found[found["method"] == method])
        panel.axhline(0, color=style.GREY, linewidth=0.8)
        panel.set_xticks(range(len(methods)), bars.wrapped(methods))
        panel.set_xlim(-0.6, len(methods) - 0.4)
        if found["score"].isna().all():
            panel.set_ylim(-1.05, 1.05)
        panel.set_ylabel("score / its method's 95th percentile")
        panel.set_title(f"{model} on {dataset} (n = {found['example_id'].nunique()})")
    style.legend_below(figure, axes[0])
    return figure


def normalised(scores: pd.DataFrame) -> dict[str, npt.NDArray[np.float64]]:
    """Defined scores of one method per variant, divided by their common scale."""
    sizes = np.abs(estimates.defined(scores["score"]))
    scale = (np.quantile(sizes, 0.95) if sizes.size else 0.0) or 1.0
    return {
        variant: estimates.defined(scores.loc[scores["variant"] == variant, "score"]) / scale
        for variant in VARIANTS
    }


def _boxes(axes: Axes, place: int, scores: pd.DataFrame) -> None:
    for number, (variant, values) in enumerate(normalised(scores).items()):
        x = place + (number - 0.5) * 0.4
        # Drawn for the legend even where a box has no values.
        look: dict[str, Any] = {
            "facecolor": style.COLORS[number],
            "hatch": style.HATCHES[number],
            "edgecolor": "black",
        }
        axes.bar(x, math.nan, 0.32, label=variant if place == 0 else "", **look)
        if not values.size:
            bars.mark_undefined(axes, x)
            continue
        axes.boxplot(
            [values],
            positions=[x],
            widths=0.32,
            whis=(5, 95),
            showfliers=False,
            patch_artist=True,
            manage_ticks=False,
            boxprops=look,
            medianprops={"color": "black", "linewidth": 1.6},
        )
