"""The chat endpoint's own language: a request as its body, and a body as a reply."""

from collections.abc import Mapping
from typing import Any

from ctxaudit.config.endpoint import EndpointModel
from ctxaudit.llm.requests import GREEDY, Answer, ChatRequest, Completion, Finish

_FINISHES: Mapping[str, Finish] = {
    "stop": "stop",
    "length": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
}

# OpenAI's newer models refuse `max_tokens`; most compatible servers know nothing else.
_NEWER_LIMIT = {"openai", "azure"}

_MOST_TOKENS = 10**9
"""No call reads or writes more; what a server counts beyond it is no count."""


class UnreadableReplyError(ValueError):
    """A body that is no chat completion."""


def body(request: ChatRequest, model: EndpointModel) -> dict[str, Any]:
    """What is sent, as the fields of a chat completion request."""
    limit = "max_completion_tokens" if model.served_by in _NEWER_LIMIT else "max_tokens"
    fields = {
        "model": model.model,
        "messages": request.messages,
        limit: request.max_new_tokens,
        **(GREEDY if request.sampling is None else request.sampling),
    }
    if request.schema is not None and model.structured_output != "none":
        fields["response_format"] = _format(request.schema, model.structured_output)
    return fields


def _format(schema: Mapping[str, Any], style: str) -> dict[str, Any]:
    if style == "json_object":
        return {"type": "json_object", "schema": schema}
    named = {"name": "reply", "schema": schema, "strict": True}
    return {"type": "json_schema", "json_schema": named}


def read(raw: Any) -> Answer:
    """The reply in a body.

    Raises:
        UnreadableReplyError: if it is no chat completion, or one without a choice.
    """
    try:
        raw = _well_formed(raw)
        choice = raw["choices"][0]
        message = choice["message"]
        refusal, text = message.get("refusal"), _text(message.get("content"))
        usage = raw.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        completion = Completion(
            text=str(refusal or text),
            finish="refusal" if refusal else _FINISHES.get(choice.get("finish_reason"), "error"),
            prompt_tokens=_count(usage.get("prompt_tokens")),
            new_tokens=_count(usage.get("completion_tokens")),
            model=str(raw.get("model") or ""),
            fingerprint=str(raw.get("system_fingerprint") or ""),
        )
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError):
        raise UnreadableReplyError from None
    return Answer(completion=completion, raw=raw)


def _text(content: Any) -> str:
    """The text of a message; some servers give it in parts, of which only some hold text."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return str(content or "")


def _count(value: Any) -> int | None:
    """A number of tokens, or None: nothing that a server says of them may cost us the text."""
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return value if is_count and 0 <= value <= _MOST_TOKENS else None


def _well_formed(value: Any) -> Any:
    """The same without halves of characters, which JSON can hold and no file can."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_well_formed(name): _well_formed(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_well_formed(inner) for inner in value]
    return value
