"""Seconds, tokens and memory of one way of scoring, in this process."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ctxaudit.models import LanguageModel

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Cost:
    """What a call took.

    Attributes:
        passes: Forward passes.
        tokens: Token positions that went through the model, padding included.
        wall: Seconds.
        cpu: Seconds, summed over the threads of this process.
        peak_mb: Most memory above what the process held before; NaN where Linux is not there.
    """

    passes: int
    tokens: int
    wall: float
    cpu: float
    peak_mb: float

    @property
    def tokens_per_second(self) -> float:
        """Tokens by wall time."""
        return self.tokens / self.wall


def measure(model: LanguageModel, run: Callable[[], Result]) -> tuple[Result, Cost]:
    """Call `run` and count what goes through the model."""
    sizes: list[int] = []

    def count(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        ids = args[0] if args else kwargs["input_ids"]
        sizes.append(ids.numel())

    hook = model.network.base_model.register_forward_pre_hook(count, with_kwargs=True)
    before = _reset_peak()
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        result = run()
    finally:
        hook.remove()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return result, Cost(len(sizes), sum(sizes), wall, cpu, _status("VmHWM") - before)


def _reset_peak() -> float:
    """Make the kernel forget the highest memory use so far; returns the present one in MB."""
    clear = Path("/proc/self/clear_refs")
    if clear.exists():
        clear.write_text("5")
    return _status("VmRSS")


def _status(field: str) -> float:
    path = Path("/proc/self/status")
    lines = path.read_text().splitlines() if path.exists() else []
    found = [line.split()[1] for line in lines if line.startswith(f"{field}:")]
    return float(found[0]) / 1024 if found else float("nan")
