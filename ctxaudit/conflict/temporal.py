"""Temporal: every piece was true at its own time, and the question asks about one time."""

from collections import Counter

from ctxaudit.conflict import twins
from ctxaudit.errors import UserError
from ctxaudit.interface import Example, Source, Task

TASK: Task = "reasoning"


def consistent_twin(example: Example) -> Example:
    """Only the accurate evidence of one timestamp (appendix D.1).

    The paper does not say which timestamp is the anchor. Here it is the one on which the gold
    answer rests: that of the pieces labelled accurate, which are right at the time asked about.
    Where these carry several, the one with most of them, then by `twins.tie_break`.
    """
    counts = Counter(
        _time(example, source) for source in example.sources if twins.accuracy(example, source)
    )
    if not counts:
        raise UserError(f"{example.id}: no source is labelled accurate, so no time is the anchor")
    anchor = max(counts, key=lambda time: (counts[time], twins.tie_break(example, time)))
    return twins.keep(
        example, lambda source: bool(source.accurate) and _time(example, source) == anchor
    )


def _time(example: Example, source: Source) -> str:
    return twins.label(example, source, "time")
