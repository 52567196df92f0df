"""Filters by metadata from which the consistent twins are made (appendix D.1)."""

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from ctxaudit.errors import UserError
from ctxaudit.interface import Example, Source


def keep(example: Example, wanted: Callable[[Source], bool]) -> Example:
    """The example with only the wanted sources, in their order.

    Raises:
        UserError: if that is none of them or all of them, so that there is no twin.
    """
    kept = tuple(source for source in example.sources if wanted(source))
    if not kept:
        raise UserError(f"{example.id}: its labels leave no source for the consistent twin")
    if len(kept) == len(example.sources):
        raise UserError(
            f"{example.id}: its labels leave all {len(kept)} sources in the consistent twin, "
            "so they show no conflict"
        )
    return replace(example, sources=kept)


def keep_largest_group(example: Example, attribute: str) -> Example:
    """Keep the sources that share one value of an attribute.

    The value with most sources is taken, which is nearest to the conflict prompt in length. Among
    equals a digest of group and value decides, so that neither position nor the alphabet does.
    """
    counts = Counter(label(example, source, attribute) for source in example.sources)
    anchor = max(counts, key=lambda value: (counts[value], tie_break(example, value)))
    return keep(example, lambda source: source.attributes[attribute] == anchor)


def tie_break(example: Example, value: str) -> str:
    """A rank for choosing among equal values: arbitrary, but the same on every machine."""
    return hashlib.sha256(f"{example.group}\n{value}".encode()).hexdigest()


def label(example: Example, source: Source, attribute: str) -> str:
    """An attribute of a source; UserError where it was not annotated."""
    if attribute not in source.attributes:
        raise UserError(
            f"{example.id}: {source.id} has no {attribute} label, which the consistent twin needs"
        )
    return source.attributes[attribute]


def accuracy(example: Example, source: Source) -> bool:
    """Whether a source is right; UserError where it was not annotated."""
    if source.accurate is None:
        raise UserError(
            f"{example.id}: {source.id} has no accuracy label, which the consistent twin needs"
        )
    return source.accurate
