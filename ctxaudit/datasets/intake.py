"""Raw records → examples with unique ids, and a count of what was left out, repeated or odd."""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ctxaudit.datasets.fields import Record
from ctxaudit.errors import UserError
from ctxaudit.interface import Example
from ctxaudit.logs import logger

QUIRK = "quirk"
"""Tag that says what is odd about an example's record; absent where nothing is."""

# UTF-8 that was read as Windows-1252 or Windows-1251, and what could not be decoded at all.
_WRONGLY_DECODED = re.compile("â€|Ã[\u0080-\u00bf]|Â[\u00a0-\u00bf]|В[\u00b0-\u00b7]|\ufffd")


@dataclass(frozen=True, slots=True)
class Omitted:
    """A record that makes no example, such as a question without an answer."""

    reason: str


def examples(
    path: str, records: Iterable[Record], build: Callable[[Record], Example | Omitted]
) -> Iterator[Example]:
    """The example of each record that makes one, in order, streamed.

    What is left out is counted by reason in the log, as are records with a quirk, texts that look
    wrongly decoded and examples that repeat an earlier one; those are all kept as they are. Beside
    the record at hand, memory holds an id and a digest of each example.

    Raises:
        UserError: naming the place of a repeated id, or for a file that makes no example.
    """
    ids: set[str] = set()
    texts: set[bytes] = set()
    omitted: Counter[str] = Counter()
    odd: Counter[str] = Counter()
    for record in records:
        example = build(record)
        if isinstance(example, Omitted):
            omitted[example.reason] += 1
            continue
        if example.id in ids:
            raise record.fault("id", f"'{example.id}' occurs twice; ids must be unique")
        ids.add(example.id)
        digest = _digest(example)
        odd.update(_oddities(example))
        odd["the same text as an earlier one"] += digest in texts
        texts.add(digest)
        yield example
    _tell(path, len(ids), omitted, odd)


def _tell(path: str, num_examples: int, omitted: Counter[str], odd: Counter[str]) -> None:
    left_out = ", ".join(f"{count} with {reason}" for reason, count in omitted.most_common())
    if not num_examples:
        raise UserError(
            f"{path}: holds no questions" + (f" that can be used: {left_out}" if left_out else "")
        )
    logger.info("%s: %d examples; left out: %s", path, num_examples, left_out or "none")
    for reason, count in odd.most_common():
        if count:
            logger.warning("%s: %d examples with %s", path, count, reason)


def _oddities(example: Example) -> Iterator[str]:
    if QUIRK in example.tags:
        yield example.tags[QUIRK]
    if any(not text.isascii() and _WRONGLY_DECODED.search(text) for text in _texts(example)):
        yield "text that looks wrongly decoded"


def _texts(example: Example) -> Iterator[str]:
    yield example.query
    yield from example.choices
    yield from (document.text for document in example.context)


def _digest(example: Example) -> bytes:
    """Equal for texts that differ in case, white space or Unicode form only."""
    digest = hashlib.blake2b(digest_size=12)
    for text in _texts(example):
        plain = " ".join(unicodedata.normalize("NFC", text).casefold().split())
        digest.update(plain.encode() + b"\0")
    return digest.digest()
