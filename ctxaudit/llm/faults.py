"""What can go wrong with a call, told apart by what is to be done about it."""

import re
from collections.abc import Iterable, Mapping
from email.utils import parsedate_to_datetime
from time import time
from typing import Any, Literal

from ctxaudit.llm.redaction import redact
from ctxaudit.llm.requests import Answer, Completion

Kind = Literal["rate", "server", "timeout", "invalid", "policy"]

RETRIED: frozenset[Kind] = frozenset({"rate", "server", "timeout"})
"""The others would fail again: the request must change."""

_RATE, _TIMEOUT = 429, 408
_CONFLICT, _TOO_EARLY = 409, 425
_SERVER = 500
_POLICY_CODES = {"content_filter", "content_policy_violation", "invalid_prompt", "safety"}
_WITHOUT_CREDIT = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}


class CallError(Exception):
    """A call without a reply.

    Attributes:
        kind: `rate` (too many), `server` (its fault, or a broken connection or body), `timeout`,
            `invalid` (the request or the account is refused), `policy` (the content is refused).
        words: What happened, in words that hold no text of the server.
        billed: Whether the call may have been paid nevertheless.
        retry_after: Seconds that the server asks to wait, or None.
    """

    def __init__(
        self, kind: Kind, words: str, *, billed: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(words)
        self.kind = kind
        self.words = words
        self.billed = billed
        self.retry_after = retry_after


def classify(error: Exception, sent: Iterable[str], secret: str) -> CallError:
    """The fault behind an error of the `openai` package.

    The server's own words are not repeated: some hold the key that they were sent. Codes and names
    of parameters are, if they look like one.

    Args:
        error: What the package raised.
        sent: Names of the parameters that were sent.
        secret: The key, which no code or name may hold.
    """
    import openai

    if isinstance(error, openai.APITimeoutError):
        return CallError("timeout", "no reply in time", billed=True)
    if isinstance(error, openai.APIStatusError):
        said = {name: getattr(error, name) for name in ("code", "type", "param", "message")}
        return of_status(error.status_code, said, sent, secret, error.response.headers)
    if isinstance(error, openai.APIConnectionError):
        cause = type(error.__cause__).__name__
        refused = "Connect" in cause
        words = f"no connection ({cause})" if refused else f"the connection broke ({cause})"
        return CallError("server", words, billed=not refused)
    return CallError("server", f"unreadable reply ({type(error).__name__})", billed=True)


def of_status(
    status: int,
    error: Mapping[str, Any],
    sent: Iterable[str],
    secret: str,
    headers: Mapping[str, str] | None = None,
) -> CallError:
    """The fault behind a status above 399 and the `error` of its body."""
    code, kind, named = (name_in(error.get(field), secret) for field in ("code", "type", "param"))
    words = f"status {status}" + (f" ({code})" if code else "")
    if code in _POLICY_CODES:
        return CallError("policy", words)
    if status == _RATE and not {code, kind} & _WITHOUT_CREDIT:
        return CallError("rate", words, retry_after=_retry_after(headers or {}))
    if status == _TIMEOUT:
        return CallError("timeout", words)
    if status >= _SERVER or status in {_CONFLICT, _TOO_EARLY}:
        return CallError("server", words, retry_after=_retry_after(headers or {}))
    parameter = named or _mentioned(str(error.get("message")), sent)
    refused = f": the parameter '{parameter}' is refused" if parameter else ""
    return CallError("invalid", words + refused)


def refusal(fault: CallError) -> Answer:
    """The reply that a refused content is recorded as."""
    return Answer(completion=Completion(text="", finish="refusal"), raw={"fault": fault.words})


def _mentioned(said: str, sent: Iterable[str]) -> str:
    """The first of our parameters that a message names, else empty."""
    found = (name for name in sent if re.search(rf"\b{re.escape(name)}\b", said))
    return next(found, "")


def name_in(text: Any, secret: str) -> str:
    """A code or the name of a parameter, or nothing if it looks like neither."""
    if not isinstance(text, str) or not re.fullmatch(r"[a-z][a-z_.\[\]0-9]{1,40}", text):
        return ""
    return str(redact(text, secret))


def _retry_after(headers: Any) -> float | None:
    """Seconds of a `Retry-After` header, a number or a date."""
    value = headers.get("retry-after")
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time())
    except (TypeError, ValueError, OverflowError):
        return None
