"""Segments between markers: written into the generator's prompt, read back from its reply."""

import re
from collections.abc import Sequence

_MARKER = re.compile(r"\[\[(/?)(\d+)\]\]")
_WORD = re.compile(r"\w+(?:['’.,-]\w+)*")


def mark(segments: Sequence[str]) -> str:
    """Each segment between `[[n]]` and `[[/n]]`, counted from 1, a blank line between two."""
    return "\n\n".join(
        f"[[{number}]] {segment} [[/{number}]]" for number, segment in enumerate(segments, start=1)
    )


def holds_marker(text: str) -> bool:
    """Whether a text has what looks like a marker, so that it could not be told apart."""
    return _MARKER.search(text) is not None


def unmark(reply: str, num: int) -> list[str] | None:
    """The text of each of `num` segments, or None if the markers are not all there, once, in order.

    What stands between two segments (a transition) belongs to the segment after it. Text before
    the first marker or after the last belongs to none and is a fault.
    """
    expected = [(slash, str(n)) for n in range(1, num + 1) for slash in ("", "/")]
    found = list(_MARKER.finditer(reply))
    if [(hit[1], hit[2]) for hit in found] != expected:
        return None
    if reply[: found[0].start()].strip() or reply[found[-1].end() :].strip():
        return None
    texts, end = [], found[0].start()
    for opening, closing in zip(found[::2], found[1::2], strict=True):
        transition = reply[end : opening.start()].strip()
        body = reply[opening.end() : closing.start()].strip()
        if not body:
            return None
        texts.append(f"{transition} {body}".strip())
        end = closing.end()
    return texts


def fact_recall(before: str, after: str) -> float:
    """Share of the content words of `before` that stand in `after`; 1 where it has none.

    Content words are numbers, capitalised words and words of more than three letters; case is
    ignored in the comparison.
    """
    wanted = {word.casefold() for word in words(before) if _is_content(word)}
    kept = {word.casefold() for word in words(after)}
    return len(wanted & kept) / len(wanted) if wanted else 1.0


def new_facts(before: str, after: str) -> list[str]:
    """Numbers and names of `after` that stand nowhere in `before`, in order.

    A name is a capitalised word that does not begin a sentence.
    """
    known = {word.casefold() for word in words(before)}
    found = []
    for hit in _WORD.finditer(after):
        word = hit[0]
        opening = after[: hit.start()].rstrip(" \t\n\"'“‘«([")
        begins = not opening or opening[-1] in ".!?:;\n"
        is_name = word[0].isupper() and not begins and word != "I"
        if (is_name or _has_digit(word)) and word.casefold() not in known:
            found.append(word)
    return found


def words(text: str) -> list[str]:
    """Words and numbers, with inner hyphens, apostrophes, points and commas."""
    return _WORD.findall(text)


def _is_content(word: str) -> bool:
    return _has_digit(word) or word[0].isupper() or len(word) > 3


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))
