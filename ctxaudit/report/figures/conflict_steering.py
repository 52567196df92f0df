"""What steering does to accuracy and to Balance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxaudit.report import bars, estimates, style
from ctxaudit.report.frames import Frames

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STUDY = "conflict"
READS = ("conflict_accuracy", "balance")

VALUES = {"conflict_accuracy": "strict", "balance": "balance"}
LABELS = {"conflict_accuracy": "accuracy (higher is better)", "balance": "Balance (0 is equal)"}


@style.styled
def draw(frames: Frames) -> Figure:
    """A row per model: accuracy of reasoning types and Balance of summaries, with intervals."""
    models = sorted({model for kind in READS for model in frames[kind]["model"]})
    steerings = {steering for kind in READS for steering in frames[kind]["steering"]}
    if not models:
        return style.message("No responses.")
    ordered = sorted(steerings, key=lambda steering: (steering != "none", steering))
    figure, axes = style.panels(2 * len(models), num_columns=2, width=4.8)
    for number, model in enumerate(models):
        for kind, panel in zip(READS, axes[2 * number : 2 * number + 2], strict=True):
            frame = frames[kind]
            _panel(panel, kind, frame[frame["model"] == model], ordered)
            panel.set_title(f"{model}: {kind.removeprefix('conflict_')}")
    style.legend_below(figure, axes[0])
    return figure


def _panel(axes: Axes, kind: str, frame: pd.DataFrame, steerings: list[str]) -> None:
    types = sorted(frame["conflict_type"].unique())
    values = {
        steering: [
            frame.loc[
                (frame["steering"] == steering) & (frame["conflict_type"] == name), VALUES[kind]
            ]
            for name in types
        ]
        for steering in steerings
    }
    intervals = {
        steering: [_interval(kind, found) for found in rows] for steering, rows in values.items()
    }
    means = {f"steering: {name}": list(map(estimates.mean, rows)) for name, rows in values.items()}
    named = {f"steering: {name}": found for name, found in intervals.items()}
    counts = [f"{name}\nn = {len(values[steerings[0]][place])}" for place, name in enumerate(types)]
    bars.grouped_bars(axes, counts, means, named)
    axes.set_ylim(0, 1.03)
    axes.set_ylabel(LABELS[kind])
    if not types:
        axes.text(0.5, 0.5, "no responses", transform=axes.transAxes, ha="center")


def _interval(kind: str, values: pd.Series[float]) -> tuple[float, float]:
    if kind == "balance":
        return estimates.bootstrap_interval(values, seed=estimates.SEED)
    return estimates.wilson_interval(values)
