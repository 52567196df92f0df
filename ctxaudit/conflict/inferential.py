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

    Without the conflicting branch another answer may be right, so gold becomes the record's
    `original_answer`.
    """
    if "original_answer" not in example.tags:
        raise UserError(
            f"{example.id}: original_answer: is missing; state the label that the original "
            "premises lead to, which is the gold answer of the consistent twin"
        )
    twin = twins.keep(example, lambda source: _branch(example, source) == "original")
    gold = twin.tags["original_answer"]
    tags = {**twin.tags, "gold_all": json.dumps([gold], ensure_ascii=False)}
    return replace(twin, gold=gold, tags=tags)


def _branch(example: Example, source: Source) -> str:
    branch = twins.label(example, source, "branch")
    if branch not in BRANCHES:
        allowed = ", ".join(BRANCHES)
        raise UserError(f"{example.id}: {source.id} has branch '{branch}'; allowed: {allowed}")
    return branch
