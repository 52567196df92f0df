"""Find a method, metric, dataset or conflict type by its module name."""

import importlib
import pkgutil
from typing import Any, Literal

from ctxaudit.errors import UserError

Kind = Literal["attribution", "metrics", "datasets", "conflict", "report.tables", "report.figures"]

_SUPPORT = {
    "attribution": {"apply", "separation"},
    "metrics": {"ranking", "rows"},
    "conflict": {"building", "twins"},
    "datasets": {"fields", "intake", "sampling"},
}
"""Modules of those packages that serve the plugins and are none themselves."""


def available(kind: str) -> list[str]:
    """Names of all plugins of a kind, sorted."""
    package = importlib.import_module(f"ctxaudit.{kind}")
    found = {module.name for module in pkgutil.iter_modules(package.__path__)}
    return sorted(name for name in found - _SUPPORT.get(kind, set()) if not name.startswith("_"))


def load(kind: str, name: str) -> Any:
    """The module of a plugin.

    Raises:
        UserError: if there is none of that name; the message lists those available.
    """
    names = available(kind)
    if name not in names:
        raise UserError(f"unknown {kind} '{name}'; available: {', '.join(names)}")
    return importlib.import_module(f"ctxaudit.{kind}.{name}")
