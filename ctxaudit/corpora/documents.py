"""A raw corpus: one JSON record with `text` per line."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ctxaudit.artifacts import jsonl
from ctxaudit.errors import UserError


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document of a corpus.

    Attributes:
        id: Unique within the corpus.
        corpus: Name of the corpus.
        text: The document's text, not blank.
    """

    id: str
    corpus: str
    text: str


def read(path: str | Path, corpus: str) -> list[Document]:
    """Documents in file order.

    Each line has `text`; `id` (text or a whole number) is optional and defaults to the line
    number; all other keys are ignored.

    Raises:
        UserError: naming file, line and field of the first fault, or for an empty corpus.
    """
    documents: dict[str, Document] = {}
    for document, line in _read(path, corpus):
        if document.id in documents:
            raise UserError(f"{path}:{line}: id: '{document.id}' occurs twice; ids must be unique")
        documents[document.id] = document
    if not documents:
        raise UserError(f"{path}: holds no documents; expected one JSON object per line")
    return list(documents.values())


def _read(path: str | Path, corpus: str) -> Iterator[tuple[Document, int]]:
    for line, record in jsonl.read(path):
        name, text = record.get("id", line), record.get("text")
        if isinstance(name, bool) or not isinstance(name, str | int) or not str(name).strip():
            raise UserError(
                f"{path}:{line}: id: expected non-empty text or a whole number, got {name!r:.80}"
            )
        if not isinstance(text, str) or not text.strip():
            raise UserError(f"{path}:{line}: text: expected non-empty text, got {text!r:.80}")
        yield Document(id=str(name), corpus=corpus, text=text), line
