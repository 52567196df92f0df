"""Checks of what plugins define: their names and their settings."""

from typing import Any

from pydantic import ValidationError

from ctxaudit import plugins
from ctxaudit.errors import UserError


def check_plugin(kind: str, name: str, key: str) -> Any:
    """The plugin of that name.

    Raises:
        ValueError: naming the key, if there is none.
    """
    try:
        return plugins.load(kind, name)
    except UserError as error:
        raise ValueError(f"{key}: {error}") from None


def check_settings(plugin: Any, key: str, settings: dict[str, Any]) -> None:
    """Check a plugin's settings against its own model.

    Raises:
        ValueError: with key and reason of each fault.
    """
    try:
        plugin.Settings.model_validate(settings)
    except ValidationError as error:
        faults = (f"{key}.{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise ValueError("; ".join(faults)) from None
