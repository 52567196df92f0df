"""Questions of Natural Questions (Kwiatkowski et al., 2019), each with its Wikipedia page."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ctxaudit.datasets import fields, intake
from ctxaudit.datasets.fields import Record
from ctxaudit.interface import ContextDocument, Example, Span

_ABSENT = -1
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_YES_NO = {"YES": "yes", "NO": "no", "NONE": None, 1: "yes", 0: "no", _ABSENT: None}
"""As the official files write it, and as the hub's tables do."""


def load(path: str) -> Iterator[Example]:
    """Questions in the original form, the simplified one (`document_text`), or the hub's rows.

    The path is a file or a folder of shards. The task is `reasoning`. Of several annotations the
    first with a long answer counts; a question that has none is left out and counted. The gold
    answer is the first short answer, else yes or no, else the long answer; `tags["answer_kind"]`
    says which ("short", "yes_no", "long"), and `tags["gold_all"]` lists them all in JSON.
    `tags["long_answer"]` is the long answer's HTML element ("p", "table", "ul"…).

    The context is the page: its tokens that are no HTML, joined by blanks. Its units are the
    paragraphs, tables and lists of the top level, its support is the long answer, its answers are
    the short ones. The simplified form has no title.

    Raises:
        UserError: naming file, line and field of the first fault; also for NQ-Open, which has no
            page.
    """
    return intake.examples(path, fields.read(path), _example)


def _example(raw: Record) -> Example | intake.Omitted:
    if {"question", "answer"} <= raw.fields.keys():
        raise raw.fault("document_text", "is missing: NQ-Open has no page to answer from")
    annotation = _annotation(raw)
    if annotation is None:
        return intake.Omitted("no long answer")
    record = _of_hub(raw) if "document" in raw.fields else raw
    page = _Page.of(record)
    long_answer = annotation.object("long_answer")
    long = page.span(long_answer)
    if not page.text[slice(*long)].strip():
        return intake.Omitted("no text in the long answer")
    spans = map(page.span, annotation.objects("short_answers"))
    short = [(start, end) for start, end in spans if start < end]
    kind, answers = _gold(annotation, page.text, long, short)
    name = record.name("example_id")
    return Example(
        id=name,
        query=record.text("question_text"),
        sources=(),
        task="reasoning",
        gold=answers[0],
        group=name,
        tags={
            "gold_all": json.dumps(answers, ensure_ascii=False),
            "answer_kind": kind,
            "long_answer": _element(page.tokens[long_answer.whole("start_token")]),
        },
        context=(
            ContextDocument(
                title=record.string("document_title") if record.has("document_title") else "",
                text=page.text,
                units=_units(record, page),
                support=(long,),
                answers=tuple(sorted(set(short))),
            ),
        ),
    )


@dataclass(frozen=True, slots=True)
class _Page:
    """A page's text and where its tokens stand in it.

    Attributes:
        tokens: T tokens, HTML included.
        text: Those that are no HTML, joined by blanks.
        starts: (T,) first character of the first text token at or after each token.
        ends: (T + 1,) one past the last character of the last text token before each token.
    """

    tokens: Sequence[str]
    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    @classmethod
    def of(cls, record: Record) -> "_Page":
        """The page of a record."""
        tokens, is_html = _tokens(record)
        words: list[str] = []
        starts, ends = [], [0]
        for token, html in zip(tokens, is_html, strict=True):
            start = ends[-1] + 1 if words else 0
            starts.append(start)
            if html:
                ends.append(ends[-1])
            else:
                words.append(token)
                ends.append(start + len(token))
        return cls(tokens, record.checked("document_tokens", " ".join(words)), starts, ends)

    def span(self, place: Record) -> Span:
        """Characters of the text tokens from `start_token` to before `end_token`."""
        start, end = place.whole("start_token"), place.whole("end_token")
        if not 0 <= start < end <= len(self.tokens):
            raise place.fault(
                "start_token", f"{start} to {end} are no tokens of a page of {len(self.tokens)}"
            )
        return min(self.starts[start], self.ends[end]), self.ends[end]


def _of_hub(record: Record) -> Record:
    """A row of the hub's tables with the keys of the original form."""
    document = record.object("document")
    tokens = document.object("tokens")
    pairs = zip(tokens.items("token"), tokens.items("is_html"), strict=True)
    renamed = {
        "example_id": record.fields.get("id"),
        "question_text": record.object("question").fields.get("text"),
        "document_title": document.fields.get("title"),
        "document_tokens": [{"token": token, "html_token": is_html} for token, is_html in pairs],
    }
    return replace(record, fields={**record.fields, **renamed})


def _tokens(record: Record) -> tuple[list[str], list[bool]]:
    """Tokens of the page, and whether each is HTML."""
    if "document_tokens" not in record.fields:
        # The numbers of tokens count single blanks, so other white space stays inside a token.
        split = record.text("document_text").split(" ")
        return split, [_TAG.fullmatch(token) is not None for token in split]
    tokens = record.items("document_tokens")
    for number, token in enumerate(tokens):
        # Spelt out for speed: a page has some ten thousand.
        if not (
            isinstance(token, dict)
            and isinstance(token.get("token"), str)
            and isinstance(token.get("html_token"), bool)
        ):
            raise record.fault(
                f"document_tokens[{number}]",
                f"expected text `token` and true or false `html_token`, got {token!r:.80}",
            )
    return [token["token"] for token in tokens], [token["html_token"] for token in tokens]


def _annotation(record: Record) -> Record | None:
    for annotation in record.objects("annotations"):
        if annotation.object("long_answer").whole("start_token") != _ABSENT:
            return annotation
    return None


def _gold(annotation: Record, text: str, long: Span, short: list[Span]) -> tuple[str, list[str]]:
    """What kind of answer the gold one is, and all of that kind."""
    value = annotation.fields.get("yes_no_answer")
    if not isinstance(value, str | int) or isinstance(value, bool) or value not in _YES_NO:
        raise annotation.fault("yes_no_answer", f"expected YES, NO or NONE, got {value!r:.80}")
    if short:
        return "short", [text[start:end] for start, end in short]
    answer = _YES_NO[value]
    return ("yes_no", [answer]) if answer else ("long", [text[slice(*long)]])


def _units(record: Record, page: _Page) -> tuple[Span, ...]:
    candidates = record.objects("long_answer_candidates")
    return tuple(sorted({page.span(each) for each in candidates if each.flag("top_level")}))


def _element(token: str) -> str:
    return re.split(r"[ _>]", token.lstrip("<"))[0].lower()
