"""Accuracy of the base and the tuned model, without and with the context."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxaudit.report import bars, estimates, style
from ctxaudit.report.frames import Frames

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

STUDY = "overlap"
READS = ("recall",)

CONTEXTS = {"none": "without context", "full": "with context"}


@style.styled
def draw(frames: Frames) -> Figure:
    """A panel per dataset and model, with 95 % Wilson intervals."""
    groups = list(frames["recall"].groupby(["dataset", "model"]))
    if not groups:
        return style.message("No answers.")
    figure, axes = style.panels(len(groups), width=3.8)
    for panel, ((dataset, model), found) in zip(axes, groups, strict=True):
        outcomes = {
            variant: [_outcomes(found, variant, context) for context in CONTEXTS]
            for variant in ("base", "tuned")
        }
        bars.grouped_bars(
            panel,
            list(CONTEXTS.values()),
            {variant: list(map(estimates.mean, rows)) for variant, rows in outcomes.items()},
            {v: list(map(estimates.wilson_interval, rows)) for v, rows in outcomes.items()},
        )
        panel.set_ylim(0, 1.03)
        panel.set_ylabel("accuracy")
        panel.set_title(f"{model} on {dataset} (n = {found['example_id'].nunique()})")
    style.legend_below(figure, axes[0])
    return figure


def _outcomes(recall: pd.DataFrame, variant: str, context: str) -> pd.Series[float]:
    rows = recall[(recall["variant"] == variant) & (recall["context"] == context)]
    return rows["correct"]
