"""Ambiguity: several entities bear the name that the question asks about."""

from ctxaudit.conflict import twins
from ctxaudit.interface import Example, Task

TASK: Task = "summarization"


def consistent_twin(example: Example) -> Example:
    """Only the evidence about one of the entities (appendix D.1).

    Which one: see `twins.keep_largest_group`.
    """
    return twins.keep_largest_group(example, "entity")
