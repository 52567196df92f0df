"""What belongs to examples, put in their order."""

from collections.abc import Sequence
from typing import TypeVar

from ctxaudit.errors import UserError
from ctxaudit.interface import Answers, Example, Response

Item = TypeVar("Item", Response, Answers)


def matched(examples: Sequence[Example], items: Sequence[Item], what: str) -> list[Item]:
    """The items in the order of the examples.

    Raises:
        UserError: if an example has none, or more than one.
    """
    by_id = {item.example_id: item for item in items}
    missing = [example.id for example in examples if example.id not in by_id]
    if missing:
        raise UserError(f"no {what} for example(s) {', '.join(missing[:10])}; make it from them")
    if len(by_id) != len(items):
        raise UserError(f"{len(items)} {what}s but {len(by_id)} example ids; ids must be unique")
    return [by_id[example.id] for example in examples]
