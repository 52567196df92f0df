"""Why values are undefined, counted."""

from collections import Counter
from collections.abc import Iterable
from typing import Any


def count_reasons(reasons: Iterable[Any]) -> str:
    """`reason: count` of each reason that is not empty, the most frequent first."""
    counts = Counter(reason for reason in reasons if isinstance(reason, str) and reason)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return "; ".join(f"{reason}: {count}" for reason, count in ordered)
