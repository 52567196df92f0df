"""Inferential: two chains of premises lead to opposite conclusions."""

import json
from dataclasses import replace

from ctxaudit.conflict import twins
from ctxaudit.errors import UserError
from ctxaudit.interface import Example, Source, Task

TASK: Task = "reasoning"

BRANCHES = ("original", "conflicting")


def consistent_twin(example: Example) -> Example:
    """Only the original chain of premises (appendix D.1).

    Without the conflicting branch another answer may be right: gold becomes the record's
    `original_answer`, and is None where the record does not state one.
    """
    twin = twins.keep(example, lambda source: _branch(example, source) == "original")
    tags = {key: value for key, value in twin.tags.items() if key != "gold_all"}
    gold = tags.get("original_answer")
    if gold is not None:
        tags["gold_all"] = json.dumps([gold], ensure_ascii=False)
    return replace(twin, gold=gold, tags=tags)


def _branch(example: Example, source: Source) -> str:
    branch = twins.label(example, source, "branch")
    if branch not in BRANCHES:
        allowed = ", ".join(BRANCHES)
        raise UserError(f"{example.id}: {source.id} has branch '{branch}'; allowed: {allowed}")
    return branch
