"""Sum up Snakemake's benchmark files: what each stage of the last run cost.

Usage: python bench/stage_costs.py benchmarks > docs/costs.md
"""

import platform
import sys
from pathlib import Path

import pandas as pd


def _stage(path: Path) -> str:
    """Study and stage; the shards of a stage belong to it."""
    parts = [part for part in path.parts if part != "shards"]
    return "/".join(parts[:2]).removesuffix(".tsv")


def main(folder: Path) -> str:
    """A Markdown table with a row per stage, in the order of their cost."""
    rows = [
        {"stage": _stage(path.relative_to(folder))} | pd.read_csv(path, sep="\t").iloc[-1].to_dict()
        for path in sorted(folder.rglob("*.tsv"))
        if path.name != "plan.tsv"
    ]
    jobs = pd.DataFrame(rows)
    # Snakemake samples a job's memory and CPU time; a job shorter than a sample has none.
    numbers = jobs[["s", "max_rss", "cpu_time"]].apply(pd.to_numeric, errors="coerce")
    grouped = jobs[["stage"]].join(numbers).groupby("stage")
    costs = grouped.agg(
        jobs=("s", "size"),
        seconds=("s", "sum"),
        cpu_seconds=("cpu_time", "sum"),
        peak_mb=("max_rss", "max"),
    ).sort_values("seconds", ascending=False)
    costs.loc["all"] = [
        costs.jobs.sum(),
        costs.seconds.sum(),
        costs.cpu_seconds.sum(),
        costs.peak_mb.max(),
    ]
    machine = f"{platform.machine()}, Python {platform.python_version()}"
    return (
        "# What each stage of `make demo` costs\n\n"
        f"Measured by Snakemake's benchmarks on {machine}. Seconds are wall time summed over jobs, "
        "imports included; cheap jobs run two at a time, so the sum is above the run's own length. "
        "Made by `make costs` after `make demo`.\n\n"
        + costs.round(0).astype(int).reset_index().to_markdown(index=False)
    )


if __name__ == "__main__":
    sys.stdout.write(main(Path(sys.argv[1])) + "\n")
