"""What the models of this machine will do: sequences, tokens and hours per stage."""

from dataclasses import asdict
from math import nan
from typing import Any

import numpy as np
import pandas as pd

from ctxaudit.config.endpoint import EndpointModel
from ctxaudit.config.root import Config
from ctxaudit.planning import conflict, overlap
from ctxaudit.planning.workload import Workload, measure

_COUNTS = ["sequences", "tokens", "shared_tokens", "generated_tokens"]


def plan(config: Config, workload: Workload | None = None) -> pd.DataFrame:
    """One row per stage and model of this machine, in the order of the stages.

    Args:
        config: The configuration.
        workload: Sizes of its inputs; by default they are measured.

    Returns:
        Columns `study`, `stage`, `model`, `sequences`, `tokens` (every sequence alone),
        `shared_tokens` (common beginnings once), `generated_tokens` (at most), `hours` (from the
        shared tokens), `reason` (why hours are NaN) and `assumed` (inputs whose sizes are stated
        and not counted).
    """
    sizes = measure(config) if workload is None else workload
    studies = {"overlap": overlap.plan(config, sizes), "conflict": conflict.plan(config, sizes)}
    works = [
        {"study": study} | asdict(work)
        for study, found in studies.items()
        for work in found
        if not isinstance(config.models[work.model], EndpointModel)
    ]
    stages = pd.DataFrame(works).groupby(["study", "stage", "model", "passes"], sort=False)
    table = stages.sum().reset_index()
    table["shared_tokens"] = table["tokens"] - table["saved_tokens"]
    hours = [_hours(row, config) for _, row in table.iterrows()]
    table["hours"], table["reason"] = zip(*hours, strict=True)
    table[_COUNTS] = np.ceil(table[_COUNTS]).astype(np.int64)
    table["assumed"] = ", ".join(sizes.assumed)
    return table[["study", "stage", "model", *_COUNTS, "hours", "reason", "assumed"]]


def show(table: pd.DataFrame) -> str:
    """The plan as text for a terminal: rows, hours per model, what is missing or assumed."""
    shown = table.drop(columns=["reason", "assumed"])
    shown[_COUNTS] = shown[_COUNTS].map("{:,}".format)
    shown["hours"] = table["hours"].map(lambda hours: "-" if np.isnan(hours) else f"{hours:,.2f}")
    totals = table.groupby("model", sort=False)["hours"].sum(min_count=1).dropna()
    missing = table.loc[table["reason"] != "", ["model", "reason"]].drop_duplicates()
    lines = [shown.to_string(index=False), ""]
    lines += [f"{model}: {hours:,.2f} hours" for model, hours in totals.items()]
    lines += [f"{model}: hours not known: {why}" for model, why in missing.to_numpy()]
    lines += [
        f"files absent, sizes as planning states: {names}"
        for names in set(table["assumed"])
        if names
    ]
    return "\n".join(lines)


def _hours(row: Any, config: Config) -> tuple[float, str]:
    model = row["model"]
    demands = {
        "tokens_per_second": row["shared_tokens"] * row["passes"],
        "generated_per_second": row["generated_tokens"],
    }
    seconds = 0.0
    for key, tokens in demands.items():
        if tokens:
            speed = getattr(config.planning, key).get(model)
            if speed is None:
                return nan, f"planning.{key}.{model} is not set"
            seconds += tokens / speed
    return seconds / 3600, ""
