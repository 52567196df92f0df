"""Keys stay out of everything that is written."""

import re
from typing import Any

from ctxaudit.errors import UserError

_SHORTEST_SECRET = 16
"""Shorter ones are fillers for servers that ask for none (`EMPTY`, `not-needed`), and words of
replies too: to take them out would change what a model said. No provider gives keys so short."""

_KNOWN_SHAPE = re.compile(r"(sk|gsk|hf|xai|pk|rk)[-_][A-Za-z0-9_-]{5,}")
"""Prefixes by which providers mark a key; what looks so is one at any length."""


def redact(value: Any, secret: str) -> Any:
    """A JSON value without the secret in any of its texts; some servers repeat what they got."""
    if isinstance(value, str) and _is_secret(secret):
        return value.replace(secret, "[key]")
    if isinstance(value, dict):
        return {redact(name, secret): redact(inner, secret) for name, inner in value.items()}
    if isinstance(value, list):
        return [redact(inner, secret) for inner in value]
    return value


def _is_secret(key: str) -> bool:
    return len(key) >= _SHORTEST_SECRET or bool(_KNOWN_SHAPE.fullmatch(key))


def read_key(environment: Any, variable: str, model: str) -> str:
    """A key from the environment.

    Raises:
        UserError: naming the variable, never the key, if there is none or none that can be sent.
    """
    key = str(environment.get(variable, ""))
    if not key:
        raise UserError(
            f"{model}: the environment variable {variable} holds no key; set it (any text will "
            "do for a local server that asks for none)"
        )
    if not (key.isascii() and key.isprintable()) or key != key.strip():
        raise UserError(
            f"{model}: the key in the environment variable {variable} holds a blank at an end, a "
            "line break or another character that no key has; set it again"
        )
    return key
