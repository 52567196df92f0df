"""How a multiple-choice question is shown and answered: by its options' words or by letters."""

from dataclasses import replace
from typing import Literal

from ctxaudit.errors import UserError
from ctxaudit.interface import Example

Scoring = Literal["option_text", "letter"]
"""`option_text` answers in the option's own words; `letter` lists the options after the query
and answers with a letter."""

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def shown(example: Example, scoring: Scoring) -> Example:
    """The example with the query that the model sees."""
    if scoring == "option_text" or not example.choices:
        return example
    listed = zip(_LETTERS, example.choices, strict=False)
    lines = [f"{letter}. {choice}" for letter, choice in listed]
    return replace(example, query="\n".join([example.query, *lines]))


def answer(example: Example, response: str, scoring: Scoring) -> str:
    """The text that stands for a response: itself, or the letter of the option that it is."""
    if scoring == "option_text" or response not in example.choices:
        return response
    return _LETTERS[example.choices.index(response)]


def check(example: Example, scoring: Scoring) -> None:
    """UserError if the example has no gold option, or more options than letters."""
    if example.gold not in example.choices:
        raise UserError(
            f"example '{example.id}': gold: {example.gold!r} is not one of its choices "
            f"{list(example.choices)}"
        )
    if scoring == "letter" and len(example.choices) > len(_LETTERS):
        raise UserError(
            f"example '{example.id}': choices: {len(example.choices)} options, letters go to "
            f"{len(_LETTERS)}; use scoring 'option_text'"
        )
