"""When a failed call is tried again."""

import random

from ctxaudit.llm.faults import CallError
from ctxaudit.logs import logger

_FIRST_SECONDS = 1.0
_MOST_SECONDS = 60.0
_MOST_SECONDS_ASKED = 600.0
"""A server that asks for more is asked again after this, and is out of attempts soon."""


def seconds_to_wait(attempt: int, fault: CallError) -> float:
    """Exponential back-off with full jitter, on top of what the server asks for.

    Full jitter (a uniform draw from zero to the limit) keeps jobs that failed together from
    coming back together.

    Args:
        attempt: Attempts made so far, at least 1.
        fault: How the last one failed.
    """
    limit = min(_MOST_SECONDS, _FIRST_SECONDS * 2 ** (attempt - 1))
    asked = fault.retry_after or 0.0
    if asked > _MOST_SECONDS_ASKED:
        logger.warning(
            "a server asks to wait %.4g s; waits of more than %.0f s are cut to that",
            asked,
            _MOST_SECONDS_ASKED,
        )
    return min(asked, _MOST_SECONDS_ASKED) + random.uniform(0.0, limit)
