"""Granularity: compatible answers at different levels of detail."""

from ctxaudit.conflict import twins
from ctxaudit.interface import Example, Task

TASK: Task = "summarization"


def consistent_twin(example: Example) -> Example:
    """Only the evidence of one level of detail, not mixed (appendix D.1).

    Which one: see `twins.keep_largest_group`.
    """
    return twins.keep_largest_group(example, "level")
