"""Questions of TyDi QA's gold-passage task (Clark et al., 2020), each with its one passage."""

import json
from collections.abc import Iterator

from ctxaudit.artifacts import containers
from ctxaudit.artifacts.json_stream import Cursor
from ctxaudit.datasets import fields, intake
from ctxaudit.datasets.fields import Record
from ctxaudit.interface import ContextDocument, Example, Span

LANGUAGES = (
    "arabic",
    "bengali",
    "english",
    "finnish",
    "indonesian",
    "korean",
    "russian",
    "swahili",
    "telugu",
)


def load(path: str) -> Iterator[Example]:
    """Questions of the official JSON (data → paragraphs → qas), or of rows, one per question.

    The task is `reasoning`; the gold answer is the first, all of them are in `tags["gold_all"]` as
    a JSON list, the language in `tags["language"]`. The context is one document that stays as it
    is, blanks at its start included, since `answer_start` counts its characters.

    Raises:
        UserError: naming file, article or row, and field; also for the primary task, and for
            offsets that count bytes.
    """
    return intake.examples(path, _questions(path), _example)


def _questions(path: str) -> Iterator[Record]:
    for file in containers.files(path):
        nested = not containers.is_parquet(file) and _has_articles(str(file))
        yield from _nested(str(file)) if nested else fields.read(str(file))


def _has_articles(path: str) -> bool:
    with containers.open_text(path) as stream:
        cursor = Cursor(stream, path)
        if cursor.peek() == "{":
            for key in cursor.members():
                if key == "data":
                    return True
                cursor.value()
    return False


def _nested(path: str) -> Iterator[Record]:
    """One record per question, with title and context of its article and paragraph."""
    with containers.open_text(path) as stream:
        cursor = Cursor(stream, path)
        for key in cursor.members():
            if key != "data":
                cursor.value()
                continue
            for number in cursor.elements():
                yield from _of_article(path, number, cursor.value())


def _of_article(path: str, number: int, article: object) -> Iterator[Record]:
    outer = Record(path, "", {}).inner(f"data[{number}]", article)
    title = outer.string("title") if outer.has("title") else ""
    for paragraph in outer.objects("paragraphs"):
        context = paragraph.text("context")
        for question in paragraph.objects("qas"):
            merged = {**question.fields, "title": title, "context": context}
            yield Record(path, "", merged, question.path)


def _example(record: Record) -> Example | intake.Omitted:
    if "document_plaintext" in record.fields:
        raise record.fault("document_plaintext", "is of the primary task; supply the GoldP files")
    name, context = record.text("id"), record.text("context")
    answers = record.objects("answers")
    if not answers:
        return intake.Omitted("no answer")
    texts = [answer.text("text") for answer in answers]
    spans = [_span(answer, context) for answer in answers]
    found = tuple(dict.fromkeys(span for span in spans if span))
    tags = {
        "gold_all": json.dumps(texts, ensure_ascii=False),
        "language": _language(record, name),
    }
    if None in spans:
        tags[intake.QUIRK] = "an answer that does not stand at its offset"
    title = record.string("title") if record.has("title") else ""
    return Example(
        id=name,
        query=record.text("question"),
        sources=(),
        task="reasoning",
        gold=texts[0],
        group=name,
        tags=tags,
        context=(ContextDocument(title=title, text=context, support=found, answers=found),),
    )


def _language(record: Record, name: str) -> str:
    # Hyphens also stand for the sign: finnish--1234-0.
    language = name.split("-", maxsplit=1)[0]
    if language not in LANGUAGES:
        raise record.fault(
            "id", f"'{name:.80}' begins with no language; allowed: {', '.join(LANGUAGES)}"
        )
    return language


def _span(answer: Record, context: str) -> Span | None:
    """Where the answer stands, or None if its offset leads to other text."""
    text, start = answer.text("text"), answer.whole("answer_start")
    if start >= 0 and context.startswith(text, start):
        return start, start + len(text)
    if start >= 0 and context.encode()[start:].startswith(text.encode()):
        raise answer.fault("answer_start", f"{start} counts bytes; it must count characters")
    return None
