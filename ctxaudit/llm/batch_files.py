"""The files of OpenAI's Batch API: requests going in, replies and faults coming out."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ctxaudit.config.endpoint import Batch, EndpointModel
from ctxaudit.errors import UserError
from ctxaudit.llm import faults, redaction, wire
from ctxaudit.llm.faults import CallError
from ctxaudit.llm.requests import Answer, Call
from ctxaudit.logs import logger

ADDRESS = "/v1/chat/completions"

_OK, _REFUSED, _SERVER = 200, 400, 500
_CANCELLED, _EXPIRED = "batch_cancelled", "batch_expired"


def line(call: Call, model: EndpointModel) -> bytes:
    """One request of an input file."""
    content = {
        "custom_id": call.key,
        "method": "POST",
        "url": ADDRESS,
        "body": wire.body(call.request, model),
    }
    return json.dumps(content).encode() + b"\n"


def parameters(call: Call, model: EndpointModel) -> list[str]:
    """Names of the parameters that are sent with a call, which a fault may be about."""
    return sorted(wire.body(call.request, model).keys() - {"model", "messages"})


def split(calls: Sequence[Call], model: EndpointModel, limits: Batch) -> Iterator[list[Call]]:
    """The calls in their order, cut where a file would exceed a limit.

    Raises:
        UserError: if one call alone does.
    """
    part: list[Call] = []
    part_bytes = 0
    for call in calls:
        num_bytes = len(line(call, model))
        if num_bytes > limits.max_bytes:
            raise UserError(
                f"{model.model}: one call is {num_bytes} bytes, more than a batch holds "
                f"(traffic.batch.max_bytes: {limits.max_bytes}); raise the limit if the endpoint "
                "takes more, or switch traffic.batch.enabled off"
            )
        if len(part) == limits.max_requests or part_bytes + num_bytes > limits.max_bytes:
            yield part
            part, part_bytes = [], 0
        part.append(call)
        part_bytes += num_bytes
    if part:
        yield part


def read(
    content: bytes, sent: Sequence[str], secret: str
) -> Iterator[tuple[str, Answer | CallError]]:
    """The key and the end of each call in an output or error file.

    A line that cannot be read is left out with a warning: its file may be still growing.

    Args:
        content: The file.
        sent: Names of the parameters that were sent.
        secret: The key, which no reply or fault may hold.
    """
    num_unreadable = 0
    for text in content.split(b"\n"):
        if not text.strip():
            continue
        try:
            value = redaction.redact(json.loads(text), secret)
            key, end = value["custom_id"], _end(value, sent, secret)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            num_unreadable += 1
        else:
            yield str(key), end
    if num_unreadable:
        logger.warning("a file of a batch holds %d unreadable lines", num_unreadable)


def _end(value: Mapping[str, Any], sent: Sequence[str], secret: str) -> Answer | CallError:
    if value.get("error"):
        return _not_answered(value["error"], sent, secret)
    status, body = value["response"]["status_code"], value["response"]["body"]
    if status == _OK:
        try:
            return wire.read(body)
        except wire.UnreadableReplyError:
            return CallError("server", "unreadable reply", billed=True)
    error = body.get("error") if isinstance(body, dict) else None
    return faults.of_status(int(status), error if isinstance(error, dict) else {}, sent, secret)


def _not_answered(error: Mapping[str, Any], sent: Sequence[str], secret: str) -> CallError:
    """The fault of a request that has no response, hence no status."""
    code = faults.name_in(error.get("code"), secret)
    if code == _CANCELLED:
        # Somebody wanted that, and is asked.
        return CallError("invalid", "its batch was cancelled")
    if code == _EXPIRED:
        return CallError("server", "its batch expired")
    return faults.of_status(
        _REFUSED if code.startswith("invalid") else _SERVER, error, sent, secret
    )
