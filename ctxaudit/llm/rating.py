"""From a reply to a score."""

import json
import math
import re
from typing import Any, Literal

import numpy as np

from ctxaudit.llm.requests import Completion, Rating, Schema
from ctxaudit.llm.structured import Structured


def read_rating(reply: Completion, low: int, high: int) -> Rating:
    """The expectation over scored choices, else the number that the reply names.

    A written reply must be a whole number alone (`7`, `7/10`, `Score: 7.`) or JSON with the key
    `score`; all else is NaN with its reason, never a guess: how the reply ended, `unparsable`,
    `invalid` (JSON without such a number) or `out of range`.
    """
    if reply.choice_logprobs:
        return Rating(score=expectation(reply.choice_logprobs, low))
    if reply.finish != "stop":
        return _undefined(reply.finish)
    number = _parse(reply.text, high)
    if isinstance(number, str):
        return _undefined(number)
    if not low <= number <= high:
        return _undefined("out of range")
    return Rating(score=float(number))


def schema(low: int, high: int) -> Schema:
    """What an endpoint that takes schemas is asked for: an object with the whole number `score`."""
    score = {"type": "integer", "minimum": low, "maximum": high}
    return {
        "type": "object",
        "properties": {"score": score},
        "required": ["score"],
        "additionalProperties": False,
    }


def of_value(found: Structured) -> Rating:
    """The score of a valid reply to such a request, else its outcome as the reason."""
    if found.outcome == "valid":
        return Rating(score=float(found.value["score"]))
    return _undefined(found.outcome)


def expectation(logprobs: tuple[float, ...], low: int) -> float:
    """Mean of the whole numbers from `low` under the softmax of their log-probabilities."""
    weights = np.exp(np.asarray(logprobs) - max(logprobs))
    return float(weights @ np.arange(low, low + len(weights)) / weights.sum())


def _undefined(reason: str) -> Rating:
    return Rating(score=float("nan"), reason=reason)


def _parse(text: str, high: int) -> float | Literal["unparsable", "invalid"]:
    body = text.strip().removeprefix("```json").strip("`").strip()
    try:
        value: Any = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        score: Any = value.get("score")
        is_number = isinstance(score, int | float) and not isinstance(score, bool)
        # A whole number of any length is compared as it is: no float may hold it.
        is_finite = isinstance(score, int) or (is_number and math.isfinite(score))
        return score if is_number and is_finite else "invalid"
    found = re.fullmatch(
        rf"[^\w-]*(?:score[^\w-]*)?(-?\d{{1,6}})(?:\s*/\s*{high})?\W*", body, re.IGNORECASE
    )
    return float(found[1]) if found else "unparsable"
