"""What is asked of a language model and what comes back, as every backend speaks it."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ctxaudit.prompts import Messages

if TYPE_CHECKING:
    from ctxaudit.llm.store import ResponseStore

Finish = Literal["stop", "length", "refusal", "error"]
Schema = Mapping[str, Any]
Number = int | float

GREEDY: Mapping[str, Any] = {"temperature": 0}


@dataclass(frozen=True, slots=True)
class Identity:
    """Who answers; part of every key.

    Attributes:
        provider: Who serves the model, `in-process` for one of this process.
        model: Its dated snapshot, or the digest of weights and dtype.
        structured_output: How a schema is sent, or empty where none ever is.
    """

    provider: str
    model: str
    structured_output: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One call to a model.

    Attributes:
        model: The model's name in the configuration; for messages, not part of the key.
        messages: The chat up to the reply.
        max_new_tokens: Output limit.
        sampling: Every sampling parameter that is sent, by its name at the endpoint; None takes
            those of the model's entry.
        schema: JSON schema of the reply, or None for text.
        replicate: Number of the draw, so that one question can be asked several times.
        choices: A closed set of complete answers; empty lets the model write freely.
        chat: Whether a model in this process is given the messages in its chat template, or
            the one message as plain text; an endpoint takes chats only.
    """

    model: str
    messages: Messages
    max_new_tokens: int
    sampling: Mapping[str, Any] | None = None
    schema: Schema | None = None
    replicate: int = 0
    choices: tuple[str, ...] = ()
    chat: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request with its place in the store.

    Attributes:
        request: The request, its sampling parameters settled.
        canonical: The request and who answers it, as JSON of one form.
        key: SHA-256 of `canonical`, hexadecimal.
    """

    request: ChatRequest
    canonical: str
    key: str


def call(request: ChatRequest, identity: Identity) -> Call:
    """The call that a request to `identity` is."""
    content = {
        "provider": identity.provider,
        "model": identity.model,
        "messages": request.messages,
        "max_new_tokens": request.max_new_tokens,
        "sampling": _plain(GREEDY if request.sampling is None else request.sampling),
        "schema": _plain(request.schema),
        "replicate": request.replicate,
        "choices": request.choices,
        "chat": request.chat,
    }
    if request.schema is not None and identity.structured_output:
        # It changes what is sent. Where there is no schema it changes nothing.
        content["structured_output"] = identity.structured_output
    text = canonical(content)
    return Call(request=request, canonical=text, key=digest(text))


def recall(content: Mapping[str, Any], name: str) -> Call:
    """The call that has this content, to a model of this name in the configuration."""
    taken = ("messages", "max_new_tokens", "sampling", "schema", "replicate", "chat")
    request = ChatRequest(
        model=name,
        choices=tuple(content["choices"]),
        **{field: content[field] for field in taken},
    )
    text = canonical(content)
    return Call(request=request, canonical=text, key=digest(text))


def canonical(content: Any) -> str:
    """JSON of one form: keys sorted, no blanks."""
    return json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def digest(text: str) -> str:
    """SHA-256, hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _plain(value: Any) -> Any:
    """The same without the difference between 1 and 1.0, which JSON would write."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A model's reply; every one is kept in the store, whatever its outcome.

    Attributes:
        text: What it wrote, or the likeliest of the request's choices.
        finish: `stop`, `length` if the limit cut it, `refusal` by the model or a filter, or
            `error` if the endpoint names any other end.
        prompt_tokens: Tokens read; None if the endpoint gave no number that can be believed.
        new_tokens: Tokens written, or scored where the answers are a closed set; likewise.
        choice_logprobs: Log-probability of each choice with its end token, nats; empty where
            the backend does not score choices.
        model: The model's name as the endpoint gave it; empty in this process.
        fingerprint: The endpoint's own name of its state, where it gives one.
    """

    text: str
    finish: Finish
    prompt_tokens: int | None = 0
    new_tokens: int | None = 0
    choice_logprobs: tuple[float, ...] = ()
    model: str = ""
    fingerprint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A reply as it came.

    Attributes:
        completion: What was read from it.
        raw: The whole body, for audit.
    """

    completion: Completion
    raw: Mapping[str, Any] = field(default_factory=dict)


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
    """Who answers calls."""

    @property
    def identity(self) -> Identity:
        """Part of every key."""

    @property
    def sampling(self) -> Mapping[str, Any]:
        """Sampling parameters of requests that name none."""

    @property
    def scores_choices(self) -> bool:
        """Whether closed answers are scored, or else left to be written."""

    @property
    def takes_schema(self) -> bool:
        """Whether a schema reaches the model apart from its messages."""

    def check(self, reply: Completion) -> None:
        """See that a stored reply may be used.

        Raises:
            UserError: if another model gave it.
        """

    def complete(
        self, calls: Sequence[Call], store: "ResponseStore", *, batch_size: int
    ) -> list[Completion]:
        """The reply to each call, in their order; each is in the store as soon as it is there."""
