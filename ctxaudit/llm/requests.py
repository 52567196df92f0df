"""What is asked of a language model and what comes back, as every backend speaks it."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Literal, Protocol

from ctxaudit.prompts import Messages

Finish = Literal["stop", "length", "refusal", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One call to a model.

    Attributes:
        model: The model's name in the configuration; for messages, not part of the key.
        messages: The chat up to the reply.
        max_new_tokens: Output limit.
        temperature: 0 is greedy.
        choices: A closed set of complete answers; empty lets the model write freely.
        chat: Whether a model in this process is given the messages in its chat template, or
            the one message as plain text; an endpoint takes chats only.
    """

    model: str
    messages: Messages
    max_new_tokens: int
    temperature: float = 0.0
    choices: tuple[str, ...] = ()
    chat: bool = True

    def canonical(self, backend: str) -> str:
        """The request as JSON of one form; `backend` identifies who answers it."""
        content = {"backend": backend, **asdict(self)}
        del content["model"]
        return json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))

    def key(self, backend: str) -> str:
        """SHA-256 of the canonical form, hexadecimal."""
        return hashlib.sha256(self.canonical(backend).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A model's reply.

    Attributes:
        text: What it wrote, or the likeliest of the request's choices.
        finish: `stop`, `length` if the limit cut it, `refusal`, or `error` for a reply without
            text; only the first three are kept in the store.
        prompt_tokens: Tokens read.
        new_tokens: Tokens written, or scored where the answers are a closed set.
        choice_logprobs: Log-probability of each choice with its end token, nats; empty where
            the backend does not score choices.
    """

    text: str
    finish: Finish
    prompt_tokens: int = 0
    new_tokens: int = 0
    choice_logprobs: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """A judge's score.

    Attributes:
        score: NaN where the reply holds none.
        reason: Why it is NaN, else empty.
    """

    score: float
    reason: str = ""


class Backend(Protocol):
    """Who answers requests."""

    @property
    def digest(self) -> str:
        """Identifies provider and model; part of every key."""

    def complete(
        self, requests: Sequence[ChatRequest], *, batch_size: int
    ) -> Iterator[tuple[int, Completion]]:
        """Position and reply of each request, as they come, in any order."""
