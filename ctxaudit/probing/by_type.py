"""Probes and steering directions of every conflict type, from stored hidden states."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ctxaudit.config.conflict import Probing
from ctxaudit.interface import Example, FloatArray
from ctxaudit.probing import probes
from ctxaudit.steering.directions import direction

Tensors = dict[str, npt.NDArray[Any]]

TWINS = ("conflict", "consistent")


def probe(
    examples: Sequence[Example], pairs: Tensors, settings: Probing, *, seed: int
) -> pd.DataFrame:
    """Probes of every type: the columns of `columns.PROBES` after `conflict_type`."""
    tables = []
    for conflict_type in types(examples):
        groups = [example.group for example in chosen(examples, conflict_type, "conflict")]
        states = [pairs[f"{conflict_type}.{twin}"] for twin in TWINS]
        lengths = [pairs[f"{conflict_type}.{twin}.tokens"] for twin in TWINS]
        by_layer = probes.train(states[0], states[1], groups, settings, seed=seed)
        by_length = probes.length_baseline(
            lengths[0].tolist(), lengths[1].tolist(), groups, settings, seed=seed
        )
        table = pd.concat([by_length, by_layer], ignore_index=True)
        table.insert(0, "conflict_type", conflict_type)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def directions(
    examples: Sequence[Example], pairs: Tensors, single: Tensors
) -> dict[str, FloatArray]:
    """The steering direction of each type, (L, D), from its calibration conflicts alone."""
    found = {}
    for conflict_type in types(examples):
        parts = [e.tags["part"] for e in chosen(examples, conflict_type, "conflict")]
        rows = [number for number, part in enumerate(parts) if part == "calibration"]
        ends = np.cumsum(single[f"{conflict_type}.pieces"])[:-1]
        found[conflict_type] = direction(
            pairs[f"{conflict_type}.conflict"][rows], np.split(single[conflict_type], ends)
        )
    return found


def types(examples: Sequence[Example]) -> list[str]:
    """Conflict types present, sorted."""
    return sorted({example.tags["conflict_type"] for example in examples})


def chosen(examples: Sequence[Example], conflict_type: str, twin: str) -> list[Example]:
    """The examples of one type and twin, in their order."""
    wanted = {"conflict_type": conflict_type, "twin": twin}
    return [example for example in examples if wanted.items() <= example.tags.items()]
