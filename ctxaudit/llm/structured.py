"""From a reply to the value that its schema asks for.

Whatever an endpoint promises, the value is parsed and validated here. A reply that fails is shown
to the model once more with what is wrong, a bounded number of times; each of these calls is
stored as any other.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from jsonschema import Draft202012Validator

from ctxaudit.llm.requests import ChatRequest, Completion, Schema

Outcome = Literal["valid", "length", "refusal", "error", "unparsable", "invalid"]
"""`unparsable` is no JSON, `invalid` is JSON that the schema refuses; the others end a reply."""

_REPAIRED = {"unparsable", "invalid"}
_LONGEST_FAULT = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Structured:
    """A reply's value.

    Attributes:
        value: The JSON value; None unless the outcome is `valid`.
        outcome: How the last reply ended.
        num_repairs: Calls that were made after the first.
        fault: What is wrong with the last reply, else empty.
    """

    value: Any
    outcome: Outcome
    num_repairs: int = 0
    fault: str = ""


def complete(
    asked: Sequence[ChatRequest],
    ask: Callable[[Sequence[ChatRequest]], list[Completion]],
    *,
    max_repairs: int,
) -> list[Structured]:
    """The value of each reply, in the order of the requests.

    Args:
        asked: Requests with a schema.
        ask: Gives the reply to each request.
        max_repairs: Most calls after the first, per request.
    """
    found: dict[int, Structured] = {}
    now = dict(enumerate(asked))
    for num_repairs in range(max_repairs + 1):
        replies = ask(list(now.values())) if now else []
        again: dict[int, ChatRequest] = {}
        for (at, request), reply in zip(now.items(), replies, strict=True):
            found[at] = replace(read(reply, request.schema or {}), num_repairs=num_repairs)
            if found[at].outcome in _REPAIRED:
                again[at] = _repair(request, reply, found[at].fault)
        now = again
    return [found[at] for at in range(len(asked))]


def read(reply: Completion, schema: Schema) -> Structured:
    """The value of one reply: JSON alone, or the one JSON block in it."""
    if reply.finish != "stop":
        return Structured(value=None, outcome=reply.finish)
    try:
        value = json.loads(_body(reply.text), parse_constant=_refuse)
        faults = sorted(Draft202012Validator(schema).iter_errors(value), key=lambda e: e.json_path)
    except ValueError as error:
        return Structured(value=None, outcome="unparsable", fault=f"not JSON: {error}")
    except RecursionError:
        return Structured(value=None, outcome="unparsable", fault="JSON nested too deeply")
    if faults:
        words = f"{faults[0].json_path}: {faults[0].message}"[:_LONGEST_FAULT]
        return Structured(value=None, outcome="invalid", fault=words)
    return Structured(value=value, outcome="valid")


def _body(text: str) -> str:
    """The text without a fence around it."""
    lines = text.strip().splitlines()
    fenced = len(lines) > 1 and lines[0].startswith("```") and lines[-1].strip() == "```"
    return "\n".join(lines[1:-1]) if fenced else text


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON number")


def _repair(request: ChatRequest, reply: Completion, fault: str) -> ChatRequest:
    said = {"role": "assistant", "content": reply.text}
    wanted = json.dumps(request.schema)
    asked = {
        "role": "user",
        "content": f"This reply cannot be used ({fault}). Reply with one JSON value that fits "
        f"this schema, and with nothing else: {wanted}",
    }
    return replace(request, messages=[*request.messages, said, asked])
