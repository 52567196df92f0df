"""Questions of HotpotQA (Yang et al., 2018), each with its paragraphs sentence by sentence."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate, pairwise

from ctxaudit.datasets import fields, intake
from ctxaudit.datasets.fields import Record
from ctxaudit.interface import ContextDocument, Example, Span


def load(path: str) -> Iterator[Example]:
    """Questions in the official layout (lists of pairs) or the hub's (objects of lists).

    The task is `reasoning`; `type` and `level` are tags. The context is one document per
    paragraph: its sentences are joined without a blank, which most of them begin with, and are its
    units, one per sentence number, also where a sentence is empty. `support` are the supporting
    sentences. Supporting facts that name no sentence there is are left out and flagged. A record
    without an id is named by file and number.

    Raises:
        UserError: naming file, record and field of the first fault.
    """
    return intake.examples(path, fields.read(path), _example)


def _example(record: Record) -> Example:
    name = _name(record)
    documents, unmatched = _documents(record)
    tags = {key: record.text(key) for key in ("type", "level") if record.has(key)}
    if unmatched:
        tags[intake.QUIRK] = "a supporting fact that names no sentence"
    answer = record.text("answer")
    return Example(
        id=name,
        query=record.text("question"),
        sources=(),
        task="reasoning",
        gold=answer,
        group=name,
        tags=tags,
        context=documents,
    )


def _name(record: Record) -> str:
    keys = [key for key in ("_id", "id") if key in record.fields]
    return record.name(keys[0]) if keys else record.default_id


def _documents(record: Record) -> tuple[tuple[ContextDocument, ...], int]:
    """One document per paragraph, and the number of supporting facts that fit none."""
    documents = [_document(each) for each in _pairs(record, "context", "title", "sentences")]
    if not documents:
        raise record.fault("context", "has no paragraph")
    if not record.has("supporting_facts"):
        return tuple(documents), 0
    facts = {
        (fact.string("title"), fact.whole("sent_id"))
        for fact in _pairs(record, "supporting_facts", "title", "sent_id")
    }
    places = {(_position(documents, title, number), number) for title, number in facts}
    marked = tuple(
        replace(
            document,
            support=tuple(span for n, span in enumerate(document.units) if (at, n) in places),
        )
        for at, document in enumerate(documents)
    )
    return marked, sum(at is None for at, _ in places)


def _document(paragraph: Record) -> ContextDocument:
    sentences = paragraph.strings("sentences")
    ends = accumulate(map(len, sentences), initial=0)
    units: tuple[Span, ...] = tuple(pairwise(ends))
    return ContextDocument(title=paragraph.string("title"), text="".join(sentences), units=units)


def _position(documents: list[ContextDocument], title: str, number: int) -> int | None:
    """The first paragraph of that title that has a sentence of that number."""
    return next(
        (
            at
            for at, document in enumerate(documents)
            if document.title == title and 0 <= number < len(document.units)
        ),
        None,
    )


def _pairs(record: Record, field: str, first: str, second: str) -> list[Record]:
    """Objects with two keys, from a list of pairs or an object of two lists."""
    if isinstance(record.fields.get(field), dict):
        return record.objects(field)
    pairs = []
    for number, pair in enumerate(record.items(field)):
        place = f"{field}[{number}]"
        if not isinstance(pair, list) or len(pair) != 2:
            raise record.fault(place, f"expected a pair of {first} and {second}, got {pair!r:.80}")
        pairs.append(record.inner(place, {first: pair[0], second: pair[1]}))
    return pairs
