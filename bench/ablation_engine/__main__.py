"""Writes the tables `ablation_engine*.{csv,md}` and the figure `ablation_engine.{pdf,png}`.

Usage: python -m bench.ablation_engine MANIFEST FOLDER [--quick]
"""

import argparse
import platform
from collections.abc import Iterator, Sequence
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
    plain, cost = measure(model, lambda: contenders.one_by_one(model, case.pairs))
    base = cost.cpu
    bare = _best_bare(model, case)

    def row(name: str, cost: Cost, difference: float = float("nan")) -> dict[str, Any]:
        return {
            "what": name,
            "passes": cost.passes,
            "tokens": cost.tokens,
            "wall s": cost.wall,
            "CPU s": cost.cpu,
            "CPU of one by one": cost.cpu / base,
            "tokens/s of bare": cost.tokens_per_second / bare.tokens_per_second,
            "peak MB": cost.peak_mb,
            "max |difference| nats": difference,
        }

    yield row("bare forward pass", bare)
    yield row("64 subsets, one by one", cost, 0.0)
    shared, cost = measure(model, partial(contenders.engine, model, case.pairs))
    yield row("64 subsets, engine", cost, _difference(shared, plain))
    results, cost = measure(model, lambda: contenders.whole_example(model, case))
    found = results.ablations["base"][0].logprobs
    yield row("whole example, engine", cost, _difference(found, plain))
    if contenders.has_context_cite():
        (masks, logprobs), cost = measure(model, lambda: contenders.context_cite(model, case))
        rows = masks @ (1 << np.arange(masks.shape[1]))
        yield row("64 masks, context-cite", cost, _difference(logprobs, [plain[r] for r in rows]))
    else:
        print("context-cite is not installed: pip install -c requirements.lock context-cite==0.0.4")
    for dtype in ("bfloat16", "float16"):
        half = models.load(manifest, dtype=dtype)
        values, cost = measure(half, partial(contenders.engine, half, case.pairs))
        yield row(f"64 subsets, engine, {dtype}", cost, _difference(values, plain))


def _best_bare(model: LanguageModel, case: cases.Case) -> Cost:
    """The fastest of several batch sizes, on sequences as long as the mean subset."""
    length = sum(len(p) + len(r) for p, r in case.pairs) // len(case.pairs)
    num_tokens = length * max(BARE_BATCHES) * 3
    speed = partial(contenders.bare, model, length=length, num_tokens=num_tokens)
    costs = [measure(model, partial(speed, batch_size=size))[1] for size in BARE_BATCHES]
    return max(costs, key=lambda cost: cost.tokens_per_second)


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
