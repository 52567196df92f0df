"""Writes the tables `ablation_engine*.{csv,md}` and the figure `ablation_engine.{pdf,png}`.

Usage: python -m bench.ablation_engine MANIFEST FOLDER [--quick]
"""

import argparse
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from bench.ablation_engine import cases, contenders
from bench.ablation_engine.figure import draw
from bench.ablation_engine.measuring import Cost, measure
from ctxaudit import models
from ctxaudit.ablation.masks import all_masks
from ctxaudit.ablation.plain import LogProbs
from ctxaudit.models import LanguageModel

STANDARD = {"num_sources": 6, "source_tokens": 100, "response_tokens": 41}
BARE_BATCHES = (1, 2, 4, 8)
NUM_SOURCES = (2, 4, 6, 8, 10, 12)
SOURCE_TOKENS = (25, 50, 100, 200, 350, 500)
ROUNDS = 3
SAMPLE = 16
"""One-by-one scoring of more subsets than this is measured on so many and scaled."""


def main() -> None:
    """Compare the contenders, then let the case grow."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("manifest", type=Path, help="manifest.json of a model folder")
    parser.add_argument("folder", type=Path, help="where table and figure go")
    parser.add_argument("--quick", action="store_true", help="the comparison alone, no sweeps")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    model = models.load(given.manifest, dtype="float32")
    _show("ablation_engine", pd.DataFrame(_compare(model, given.manifest)), given.folder)
    if not given.quick:
        sweeps = [
            *_sweep(model, "num_sources", NUM_SOURCES, source_tokens=25),
            *_sweep(model, "source_tokens", SOURCE_TOKENS, num_sources=6),
        ]
        _show("ablation_engine_sweeps", pd.DataFrame(sweeps), given.folder)
        draw(pd.DataFrame(sweeps), given.folder)
        _show("ablation_engine_large", pd.DataFrame(_large(model)), given.folder)


def _show(name: str, table: pd.DataFrame, folder: Path) -> None:
    table.to_csv(folder / f"{name}.csv", index=False)
    text = f"{_machine()}\n\n{table.to_markdown(index=False, floatfmt='.4g')}\n"
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
    print(text)


def _compare(model: LanguageModel, manifest: Path) -> Iterator[dict[str, Any]]:
    """A row per contender on the standard case."""
    case = cases.make(model, **STANDARD)
    contenders.engine(model, case.pairs[:4])
    runs: dict[str, Callable[[], Any]] = {
        "64 subsets, one by one": partial(contenders.one_by_one, model, case.pairs),
        "64 subsets, engine": partial(contenders.engine, model, case.pairs),
        "whole example, engine": partial(contenders.whole_example, model, case),
    }
    bare = [f"bare forward pass, batch {size}" for size in BARE_BATCHES]
    for name, size in zip(bare, BARE_BATCHES, strict=True):
        runs[name] = partial(contenders.bare, model, batch_size=size, **_size_of_bare(case))
    results, costs = _least_of_rounds(model, runs)
    plain = results["64 subsets, one by one"]
    shared = results["64 subsets, engine"]
    whole = results["whole example, engine"].ablations["base"][0].logprobs
    differences = {
        "64 subsets, engine": _difference(shared, plain),
        "whole example, engine": _difference(whole, plain),
    }
    if contenders.has_context_cite():
        name = "64 masks, context-cite"
        (masks, logprobs), costs[name] = measure(
            model, partial(contenders.context_cite, model, case)
        )
        rows = masks @ (1 << np.arange(masks.shape[1]))
        differences[name] = _difference(logprobs, [plain[row] for row in rows])
    else:
        print("context-cite is not installed: pip install -c requirements.lock context-cite==0.0.4")
    for dtype in ("bfloat16", "float16"):
        half, name = models.load(manifest, dtype=dtype), f"64 subsets, engine, {dtype}"
        values, costs[name] = measure(half, partial(contenders.engine, half, case.pairs))
        differences[name] = _difference(values, plain)
    fastest = max(costs[name].tokens_per_second for name in bare)
    for name, cost in costs.items():
        yield {
            "what": name,
            "passes": cost.passes,
            "tokens": cost.tokens,
            "wall s": cost.wall,
            "CPU s": cost.cpu,
            "CPU of one by one": cost.cpu / costs["64 subsets, one by one"].cpu,
            "tokens/s of best bare": cost.tokens_per_second / fastest,
            "peak MB": cost.peak_mb,
            "max |difference| nats": differences.get(name, float("nan")),
        }


def _least_of_rounds(
    model: LanguageModel, runs: Mapping[str, Callable[[], Any]]
) -> tuple[dict[str, Any], dict[str, Cost]]:
    """Results, and the round of least wall time of each run: others on the machine only slow."""
    rounds = [{name: measure(model, run) for name, run in runs.items()} for _ in range(ROUNDS)]
    results = {name: rounds[0][name][0] for name in runs}
    costs = {
        name: min((done[name][1] for done in rounds), key=lambda cost: cost.wall) for name in runs
    }
    return results, costs


def _size_of_bare(case: cases.Case) -> dict[str, int]:
    """Sequences as long as the mean subset, in all as many tokens as the engine's or more."""
    length = sum(len(p) + len(r) for p, r in case.pairs) // len(case.pairs)
    return {"length": length, "num_tokens": length * max(BARE_BATCHES) * 3}


def _sweep(
    model: LanguageModel, key: str, values: Sequence[int], **others: int
) -> Iterator[dict[str, Any]]:
    """Costs of all subsets of growing cases."""
    for value in values:
        case = cases.make(model, **{**others, key: value, "response_tokens": 8})
        num_subsets = len(all_masks(len(case.example.sources)))
        draw_from = np.random.default_rng(0)
        chosen = draw_from.choice(num_subsets, min(num_subsets, SAMPLE), replace=False)
        some = [case.pairs[at] for at in chosen]
        plain, alone = measure(model, partial(contenders.one_by_one, model, some))
        shared, cost = measure(model, partial(contenders.engine, model, case.pairs))
        yield {
            "varied": key,
            "value": value,
            "subsets": num_subsets,
            "engine CPU s": cost.cpu,
            "one by one CPU s": alone.cpu * num_subsets / len(some),
            "engine tokens": cost.tokens,
            "engine peak MB": cost.peak_mb,
            "max |difference| nats": _difference([shared[at] for at in chosen], plain),
        }


def _large(model: LanguageModel) -> Iterator[dict[str, Any]]:
    """Memory beside the model for 64 and for 1,024 subsets with sources of the same length."""
    for num_sources in (6, 10):
        case = cases.make(model, **{**STANDARD, "num_sources": num_sources})
        _, cost = measure(model, partial(contenders.engine, model, case.pairs))
        yield {
            "subsets": len(case.pairs),
            "tokens": cost.tokens,
            "tokens/s": cost.tokens_per_second,
            "peak MB": cost.peak_mb,
        }


def _difference(values: Sequence[LogProbs], others: Sequence[LogProbs]) -> float:
    """Largest over subsets and response tokens."""
    return float(max(np.abs(a - b).max() for a, b in zip(values, others, strict=True)))


def _machine() -> str:
    return (
        f"{platform.processor() or platform.machine()}, {torch.get_num_threads()} threads, "
        f"torch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}"
    )


if __name__ == "__main__":
    main()
