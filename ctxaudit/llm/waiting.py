"""Long waits are said: at once, and then now and again."""

import time
from collections.abc import Callable

from ctxaudit.logs import logger

_SECONDS_BETWEEN_LINES = 60.0


class Waiting:
    """What one job says of its waits.

    Args:
        name: Of the model.
        clock: Seconds of a clock that is never set.
    """

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._clock = clock
        self._said: float | None = None

    def on(self, what: str) -> None:
        """Say what is waited for, unless a wait was said a short while ago."""
        now = self._clock()
        if self._said is None or now - self._said >= _SECONDS_BETWEEN_LINES:
            self._said = now
            logger.info("%s: waits for %s", self._name, what)
