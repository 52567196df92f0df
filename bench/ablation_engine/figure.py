"""Cost against the number and the length of the sources."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd

LABELS = {
    "num_sources": "number of sources (25 tokens each, all subsets)",
    "source_tokens": "tokens per source (6 sources, 64 subsets)",
}


def draw(sweeps: pd.DataFrame, folder: Path) -> None:
    """One panel per sweep, logarithmic costs, as PDF and PNG."""
    figure, axes = plt.subplots(1, len(LABELS), figsize=(8, 3), layout="constrained")
    for axis, (key, label) in zip(axes, LABELS.items(), strict=True):
        rows = sweeps[sweeps["varied"] == key]
        for column, marker in (("one by one CPU s", "o"), ("engine CPU s", "s")):
            axis.plot(
                rows["value"], rows[column], marker=marker, label=column.removesuffix(" CPU s")
            )
        axis.set(xlabel=label, ylabel="CPU seconds", yscale="log")
        axis.legend(frameon=False)
    for kind in ("pdf", "png"):
        figure.savefig(folder / f"ablation_engine.{kind}", dpi=150)
