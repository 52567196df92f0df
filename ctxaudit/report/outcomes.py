"""How the replies of language models ended that a table rests on.

A reply is faulty if it was refused, cut at its limit, unparsable or invalid, or ended otherwise
than by itself. Everything that rests on it says how many there are, whatever its stage made of it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ctxaudit.report.frames import Frames

if TYPE_CHECKING:
    import pandas as pd


def columns(*roles: str) -> list[str]:
    """The columns about the replies of each role.

    `<role>_replies` is their number, `<role>_faulty` that of the faulty ones, `<role>_faulty_rate`
    their share, and `<role>_outcomes` counts each kind of fault and says its share.
    """
    names = ("replies", "faulty", "faulty_rate", "outcomes")
    return [f"{role}_{name}" for role in roles for name in names]


OF_CONTEXTS = columns("judge", "generator")
"""Of every table that rests on the contexts: the judge chose their segments, the generator smoothed
them."""


def of_contexts(frames: Frames, dataset: Hashable) -> dict[str, Any]:
    """The columns `OF_CONTEXTS` for one dataset, from its candidates and its examples."""
    candidates, examples = frames["candidates"], frames["examples"]
    judged = candidates.loc[candidates["dataset"] == dataset, "reason"]
    ended = examples.loc[examples["dataset"] == dataset, "smoothing_outcome"]
    smoothed = ended[ended != ""].replace("valid", "")
    return tally("judge", judged) | tally("generator", smoothed)


def of_responses(
    finishes: pd.Series[Any], unparsable: pd.Series[Any] | None = None
) -> dict[str, Any]:
    """The columns of the role `model`.

    Args:
        finishes: How each response ended.
        unparsable: Whether no answer can be read from it, where one is wanted.
    """
    ended = finishes.replace(["stop", "choice"], "")
    if unparsable is not None:
        ended = ended.mask((ended == "") & unparsable, "unparsable")
    return tally("model", ended)


def tally(role: str, faults: Iterable[str]) -> dict[str, Any]:
    """The columns of one role.

    Args:
        role: Who replied.
        faults: Per reply what is wrong with it, empty if nothing.
    """
    kinds = list(faults)
    counts = Counter(kind for kind in kinds if kind)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shares = [f"{kind}: {count} ({100 * count / len(kinds):.3g} %)" for kind, count in ordered]
    rate = counts.total() / len(kinds) if kinds else math.nan
    values = (len(kinds), counts.total(), rate, "; ".join(shares))
    return dict(zip(columns(role), values, strict=True))


def with_reasons(row: Mapping[str, Any], counted: Mapping[str, Any]) -> dict[str, Any]:
    """A table's row and its columns about replies; its reasons name a rate that there is not."""
    missing = [
        name for name, value in counted.items() if name.endswith("_rate") and math.isnan(value)
    ]
    reasons = [row["reasons"], f"{', '.join(missing)} (no replies)" if missing else ""]
    return {**row, **counted, "reasons": "; ".join(filter(None, reasons))}
