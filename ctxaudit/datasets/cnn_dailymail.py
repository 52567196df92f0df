"""Articles of CNN/DailyMail 3.0.0 (See et al., 2017), to be summarised."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from ctxaudit.artifacts import containers
from ctxaudit.datasets import fields, intake
from ctxaudit.datasets.fields import Record
from ctxaudit.errors import UserError
from ctxaudit.interface import ContextDocument, Example, Span

QUERY = "Summarize the article in a few sentences."
"""The raw files hold articles and no instruction."""

_HIGHLIGHT = "@highlight"


def load(path: str) -> Iterator[Example]:
    """Articles with their highlights: records, or a folder with `.story` files at any depth.

    The task is `summarization`, the gold answer the highlights, one per line. The context is one
    document. Records have `article`, `highlights` and `id`. A story's id is its file's name, its
    units are its lines that are not blank. Beside the stories may lie one list of URLs, one a line,
    as the official splits are given: then only their stories are taken, and each must be there.
    Nothing is added to the text: the hub's records join the lines of a story by blanks and close
    captions by a full stop, so the two forms of an article differ.

    Articles without a body or without highlights are left out and counted.

    Raises:
        UserError: naming file, record and field of the first fault.
    """
    stories = sorted(Path(path).rglob("*.story"), key=lambda story: story.stem)
    if stories:
        return intake.examples(path, _stories(Path(path), stories), _of_story)
    return intake.examples(path, fields.read(path), _of_record)


def _of_record(record: Record) -> Example | intake.Omitted:
    article, highlights = record.string("article"), record.string("highlights")
    return _example(record, article, highlights, units=())


def _of_story(record: Record) -> Example | intake.Omitted:
    body, *highlights = _parts(record.string("story"))
    units: list[Span] = []
    start = 0
    for line in body.split("\n"):
        if line.strip():
            units.append((start, start + len(line)))
        start += len(line) + 1
    gold = "\n".join(text.strip() for text in highlights if text.strip())
    return _example(record, body, gold, units=tuple(units))


def _example(
    record: Record, article: str, highlights: str, *, units: tuple[Span, ...]
) -> Example | intake.Omitted:
    if not article.strip():
        return intake.Omitted("no body")
    if not highlights.strip():
        return intake.Omitted("no highlights")
    name = record.name("id")
    return Example(
        id=name,
        query=QUERY,
        sources=(),
        task="summarization",
        gold=highlights,
        group=name,
        context=(ContextDocument(text=article, units=units),),
    )


def _parts(story: str) -> list[str]:
    """The text before the first line `@highlight`, then that after each of them."""
    parts: list[list[str]] = [[]]
    for line in story.split("\n"):
        if line.strip() == _HIGHLIGHT:
            parts.append([])
        else:
            parts[-1].append(line)
    return ["\n".join(lines) for lines in parts]


def _stories(folder: Path, stories: list[Path]) -> Iterator[Record]:
    wanted = _listed(folder)
    if wanted is not None:
        absent = sorted(wanted - {story.stem for story in stories})
        if absent:
            raise UserError(
                f"{folder}: {len(absent)} stories of the list are missing, such as "
                f"{absent[0]}.story; supply them, or remove the list"
            )
        stories = [story for story in stories if story.stem in wanted]
    for story in stories:
        with containers.open_text(story) as stream:
            yield Record(str(story), story.stem, {"id": story.stem, "story": stream.read()})


def _listed(folder: Path) -> set[str] | None:
    """Names of the stories in the folder's list of URLs: the URLs' SHA-1; None without a list."""
    lists = sorted(folder.glob("*.txt"))
    if len(lists) > 1:
        names = ", ".join(file.name for file in lists)
        raise UserError(f"{folder}: holds several lists of URLs ({names}); leave that of one split")
    if not lists:
        return None
    with containers.open_text(lists[0]) as stream:
        urls = [line.strip() for line in stream if line.strip()]
    return {hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest() for url in urls}
