"""Perspective: incompatible stances on one question."""

from ctxaudit.conflict import twins
from ctxaudit.interface import Example, Task

TASK: Task = "summarization"


def consistent_twin(example: Example) -> Example:
    """Only the evidence that shares one stance (appendix D.1).

    Which one: see `twins.keep_largest_group`.
    """
    return twins.keep_largest_group(example, "stance")
