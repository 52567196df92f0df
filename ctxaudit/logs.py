"""Logging of a rule's script: records, warnings, progress and the traceback go to its log."""

import logging
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from tqdm import tqdm

from ctxaudit.errors import UserError

logger = logging.getLogger("ctxaudit")

Item = TypeVar("Item")

_SECONDS_BETWEEN_LINES = 15.0


def log_to(path: str) -> None:
    """Send everything that a script has to say to `path`; errors also to the terminal.

    A `UserError` is printed as its message alone; any other exception with its traceback.
    """
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(path, mode="w", encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    logger.setLevel(logging.INFO)
    logging.captureWarnings(capture=True)
    warnings.simplefilter("default")
    sys.excepthook = _report


def announce(text: str) -> None:
    """Say something that the person at the terminal should read, and log it."""
    logger.info("%s", text)
    sys.stderr.write(f"{text}\n")


def progress(items: Iterable[Item], *, total: int, label: str) -> Iterator[Item]:
    """Yield the items with a bar on a terminal and a sparse line in the log."""
    last = time.monotonic()
    bar = tqdm(items, total=total, desc=label, disable=not sys.stderr.isatty(), leave=False)
    for count, item in enumerate(bar, start=1):
        yield item
        now = time.monotonic()
        if now - last > _SECONDS_BETWEEN_LINES or count == total:
            logger.info("%s: %d of %d", label, count, total)
            last = now


def _report(
    kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    if isinstance(error, UserError):
        logger.error("%s", error)
        sys.stderr.write(f"\nError: {error}\n")
        return
    logger.critical("unexpected error", exc_info=(kind, error, traceback))
    sys.__excepthook__(kind, error, traceback)
