"""Questions of MS MARCO QA (Bajaj et al., 2016), each with the passages that a search gave."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import zip_longest

from ctxaudit.artifacts import containers
from ctxaudit.artifacts.json_stream import Cursor
from ctxaudit.datasets import fields, intake
from ctxaudit.datasets.fields import Record
from ctxaudit.errors import UserError
from ctxaudit.interface import ContextDocument, Example

NO_ANSWER = "No Answer Present."

_UNKNOWN = -1
"""`is_selected` in the hub's test split."""


def load(path: str) -> Iterator[Example]:
    """Questions of v2.1 (one object of columns) or of rows, as in v1.1 and in tables.

    The task is `reasoning`; the gold answer is the first, all of them are in `tags["gold_all"]` as
    a JSON list, those in full sentences in `tags["well_formed"]`, the kind of question in
    `tags["query_type"]`. The context is one document per passage, and the whole of a passage that
    an annotator answered from is its support. Questions without an answer are left out and
    counted; blank passages are left out of a context and flagged.

    An object of columns is read once to find where each column starts, then all columns side by
    side, so memory holds a few rows and not the file.

    Raises:
        UserError: naming file, row and field of the first fault.
    """
    return intake.examples(path, _rows(path), _example)


def _rows(path: str) -> Iterator[Record]:
    for file in containers.files(path):
        columns = not containers.is_parquet(file) and _is_of_columns(str(file))
        yield from _of_columns(str(file)) if columns else fields.read(str(file))


def _is_of_columns(path: str) -> bool:
    """Whether the first value of the first object is an object by row number."""
    with containers.open_text(path) as stream:
        cursor = Cursor(stream, path)
        if cursor.peek() == "{":
            for _ in cursor.members():
                return cursor.peek() == "{" and next(cursor.members(), "").isdecimal()
    return False


def _of_columns(path: str) -> Iterator[Record]:
    with ExitStack() as opened:
        cursors = {}
        for column, start in _starts(path).items():
            cursors[column] = Cursor(opened.enter_context(containers.open_text(path)), path)
            cursors[column].skip(start)
        rows = zip_longest(*(cursor.members() for cursor in cursors.values()))
        for keys in rows:
            if len(set(keys)) > 1:
                shown = ", ".join(f"{c}: {k}" for c, k in zip(cursors, keys, strict=True))
                raise UserError(f"{path}: the columns differ in their rows ({shown})")
            values = {column: cursor.value() for column, cursor in cursors.items()}
            yield Record(f"{path}: row {keys[0]}", "", values)


def _starts(path: str) -> dict[str, int]:
    """Characters before each column."""
    starts = {}
    with containers.open_text(path) as stream:
        cursor = Cursor(stream, path)
        for column in cursor.members():
            starts[column] = cursor.position
            for _ in cursor.members():
                cursor.value()
    return starts


def _example(record: Record) -> Example | intake.Omitted:
    answers = _answers(record)
    if not answers:
        return intake.Omitted("no answer")
    name = record.name("query_id")
    passages = [_document(passage) for passage in record.objects("passages")]
    filled = tuple(passage for passage in passages if passage.text.strip())
    if not filled:
        return intake.Omitted("no passage")
    tags = {"gold_all": json.dumps(answers, ensure_ascii=False)}
    well_formed = _well_formed(record)
    if well_formed:
        tags["well_formed"] = json.dumps(well_formed, ensure_ascii=False)
    if record.has("query_type"):
        tags["query_type"] = record.string("query_type")
    if len(filled) < len(passages):
        tags[intake.QUIRK] = "a blank passage"
    return Example(
        id=name,
        query=record.text("query"),
        sources=(),
        task="reasoning",
        gold=answers[0],
        group=name,
        tags=tags,
        context=filled,
    )


def _answers(record: Record) -> list[str]:
    """Answers that are some; the test split has none."""
    if not record.has("answers"):
        return []
    return [text for text in record.strings("answers") if text.strip() not in {"", NO_ANSWER}]


def _well_formed(record: Record) -> list[str]:
    # The raw file spells an empty list as the text "[]".
    if record.fields.get("wellFormedAnswers") in (None, "[]"):
        return []
    return [text for text in record.strings("wellFormedAnswers") if text.strip()]


def _document(passage: Record) -> ContextDocument:
    text = passage.string("passage_text")
    if not passage.has("is_selected"):
        return ContextDocument(text=text)
    selected = passage.whole("is_selected")
    if selected not in (0, 1, _UNKNOWN):
        raise passage.fault("is_selected", f"expected 0 or 1, got {selected}")
    whole = ((0, len(text)),) if selected == 1 else ()
    return ContextDocument(text=text, support=None if selected == _UNKNOWN else whole)
