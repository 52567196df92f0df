"""Accuracy on reasoning conflicts: reading the answer out of a response, strictly and leniently."""

import itertools
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from ctxaudit import columns
from ctxaudit.errors import UserError
from ctxaudit.interface import Example, Response

_TAG = re.compile(r"<\s*(/?)\s*answer\s*>", re.IGNORECASE)
_ARTICLES = {"a", "an", "the"}


def tagged_answer(text: str) -> str | None:
    """Content of the last complete `<answer>…</answer>` pair, None where there is none.

    A pair is an opening tag whose next tag closes; of nested pairs this is the innermost.
    """
    pairs = itertools.pairwise(_TAG.finditer(text))
    found = [(one.end(), two.start()) for one, two in pairs if not one[1] and two[1]]
    return text[slice(*found[-1])] if found else None


def normalise(text: str) -> str:
    """Casefolded, without punctuation (but inside numbers) and articles, single blanks."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    joined = re.sub(r"(?<!\d)[.'’]|[.'’](?!\d)", "", folded)
    words = re.sub(r"(?<!\d)[^\w\s]|[^\w\s](?!\d)", " ", joined).replace("_", " ").split()
    # A label may itself be the letter A.
    return " ".join([word for word in words if word not in _ARTICLES] or words)


def evaluate(examples: Sequence[Example], responses: Sequence[Response]) -> pd.DataFrame:
    """The columns `ACCURACY`, one row per response to a reasoning example, in their order.

    Raises:
        UserError: if a response belongs to no example or a reasoning example has no gold answer.
    """
    by_id = {example.id: example for example in examples}
    reasoning = [example for example in examples if example.task == "reasoning"]
    labels = defaultdict(set)
    for example in reasoning:
        labels[example.tags["conflict_type"]].update({_gold(example), *example.choices})
    rows = []
    for response in responses:
        if response.example_id not in by_id:
            raise UserError(f"response to '{response.example_id}': no such example")
        example = by_id[response.example_id]
        if example.task == "reasoning":
            rivals = example.choices or labels[example.tags["conflict_type"]]
            rows.append(_judge(example, response, rivals))
    return pd.DataFrame(rows, columns=list(columns.ACCURACY))


def _judge(example: Example, response: Response, labels: Iterable[str]) -> dict[str, Any]:
    gold = normalise(_gold(example))
    tagged = tagged_answer(response.text)
    answer = normalise(tagged or "")
    strict = answer == gold
    step = _lenient_step(response.text, tagged, gold, {normalise(label) for label in labels})
    outcome = "correct" if strict else "wrong" if answer else "unanswered"
    return {
        "example_id": example.id,
        "conflict_type": example.tags["conflict_type"],
        "outcome": outcome,
        "strict": int(strict),
        "lenient": int(bool(step)),
        "lenient_step": step,
        "finish": response.finish,
        "num_characters": len(response.text),
        "reason": _reason(response, tagged) if outcome == "unanswered" else "",
    }


def _lenient_step(text: str, tagged: str | None, gold: str, labels: set[str]) -> str:
    """What makes the response right: `answer tag`, `within the tag`, `last line`, or nothing."""
    answer = normalise(tagged or "")
    if answer:
        if answer == gold:
            return "answer tag"
        return "within the tag" if _names_only(answer, gold, labels) else ""
    lines = [line for line in _TAG.sub(" ", text).splitlines() if line.strip()]
    return "last line" if lines and _names_only(normalise(lines[-1]), gold, labels) else ""


def _names_only(text: str, gold: str, labels: set[str]) -> bool:
    """Whether the gold label stands in the text as whole words and no other label does."""
    others = (label for label in labels if label and f" {label} " not in f" {gold} ")
    return f" {gold} " in f" {text} " and not any(f" {label} " in f" {text} " for label in others)


def _reason(response: Response, tagged: str | None) -> str:
    if response.finish == "refusal":
        return "refused"
    if not response.text.strip():
        return "empty response"
    if tagged is not None:
        return "empty answer tag"
    return "cut before an answer" if response.finish == "length" else "no complete answer tag"


def _gold(example: Example) -> str:
    if not example.gold or not normalise(example.gold):
        raise UserError(f"example '{example.id}': gold: a reasoning example needs an answer")
    return example.gold
