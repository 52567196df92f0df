"""How a fault in the configuration is worded."""

from collections.abc import Sequence
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from ctxaudit.config.section import Section

_MAY_HOLD_A_SECRET = {("key_variable",), ("base_url",)}


def describe(fault: Any, *, source: str, root: type[Section]) -> str:
    """One fault that pydantic found as one line: source, key, reason, and the value.

    Args:
        fault: An entry of `ValidationError.errors()`.
        source: Name of the configuration.
        root: Model of the whole configuration.
    """
    key = ".".join(str(part) for part in fault["loc"]) or "(top level)"
    reason = fault["msg"].removeprefix("Value error, ")
    if fault["type"] == "extra_forbidden":
        reason = f"unknown key; allowed: {', '.join(_keys_beside(fault['loc'], root))}"
    value = fault["input"]
    # A whole section says nothing that its key does not, and some have put a secret here.
    # Nobody knows what an unknown key was meant to hold: it may be `api_key`.
    unsaid = (
        isinstance(value, dict | BaseModel)
        or fault["type"] == "extra_forbidden"
        or fault["loc"][-1:] in _MAY_HOLD_A_SECRET
    )
    shown = "" if unsaid else f" (got {str(value)[:80]!r})"
    return f"{source}: {key}: {reason}{shown}"


def _keys_beside(location: Sequence[str | int], root: type[Section]) -> list[str]:
    """Keys of the section that an unknown key stands in; empty where that is not one section."""
    section: Any = root
    for part in location[:-1]:
        fields = getattr(section, "model_fields", {})
        if part in fields:
            section = fields[part].annotation
        elif get_origin(section) is dict:
            section = get_args(section)[1]
        else:
            # The kind of a model: one of several sections.
            section = next((s for s in get_args(get_args(section)[0]) if _kind(s) == part), None)
    return sorted(getattr(section, "model_fields", {}))


def _kind(section: Any) -> str:
    return str(get_args(section.model_fields["kind"].annotation)[0])
