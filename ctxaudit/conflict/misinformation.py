"""Misinformation: some evidence is factually wrong and labelled so."""

from ctxaudit.conflict import twins
from ctxaudit.interface import Example, Task

TASK: Task = "reasoning"


def consistent_twin(example: Example) -> Example:
    """Only the evidence that is labelled accurate (appendix D.1)."""
    return twins.keep(example, lambda source: twins.accuracy(example, source))
