"""How a multiple-choice question is shown and answered: by its options' words or by letters."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from ctxaudit.errors import UserError
from ctxaudit.interface import Answers, Example, Response
from ctxaudit.matching import matched

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
    """UserError if the example has no options, no gold one, or more options than letters."""
    if not example.choices:
        raise UserError(
            f"example '{example.id}': choices: none; free-form questions can be loaded but not "
            "evaluated yet, so take a multiple-choice set (loader wmdp)"
        )
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


def choose_responses(examples: Sequence[Example], answers: Sequence[Answers]) -> list[Response]:
    """The best option under the full context, as each example's response.

    Raises:
        UserError: if an example has no answer table, or the full mask was not evaluated.
    """
    answers = matched(examples, answers, "answer table")
    return [
        Response(example_id=example.id, text=example.choices[_best(item)], finish="choice")
        for example, item in zip(examples, answers, strict=True)
    ]


def _best(answers: Answers) -> int:
    full = np.flatnonzero(answers.masks.all(axis=1))
    if not full.size:
        raise UserError(f"example '{answers.example_id}': the full context was not scored")
    return int(answers.scores[full[0]].argmax())
