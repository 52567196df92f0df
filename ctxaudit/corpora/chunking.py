"""Documents → passages: windows of a fixed number of tokens with overlap.

The overlap study (section 4, step 1) cuts into 500 tokens with 50 shared by neighbours.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ctxaudit import logs
from ctxaudit.config.overlap import Chunking
from ctxaudit.corpora.documents import Document
from ctxaudit.errors import UserError
from ctxaudit.interface import Passage

Offsets = list[tuple[int, int]]

_PIECE_CHARACTERS = 50_000
"""Longer documents are tokenised in pieces, so that memory does not grow with their length."""


def chunk(documents: Sequence[Document], tokenizer: Any, settings: Chunking) -> list[Passage]:
    """Cut every document; passages in document order.

    Each passage is a literal slice of its document made of whole tokens. A window's tokens begin
    `num_tokens - overlap` after the former's; the last one of a document may be shorter. White
    space at the ends of a window may fall outside it, and a window of nothing else is left out.

    Args:
        documents: What to cut.
        tokenizer: A fast tokenizer, which knows the characters of its tokens.
        settings: Window and overlap in tokens.
    """
    if not tokenizer.is_fast:
        raise UserError(
            f"the tokenizer {type(tokenizer).__name__} has no character offsets, which chunking "
            "needs; use a model with a fast tokenizer (tokenizer.json)"
        )
    passages: list[Passage] = []
    for document in logs.progress(documents, total=len(documents), label="chunking"):
        offsets = token_offsets(document.text, tokenizer)
        passages.extend(_passages(document, offsets, settings))
    return passages


def token_offsets(text: str, tokenizer: Any) -> Offsets:
    """Half-open character range of each token, in order.

    Tokens that are bytes of one character all have its range; one of white space may have none.
    """
    offsets: Offsets = []
    for first, piece in _pieces(text):
        # Without `verbose` the tokenizer warns that the text exceeds the model's window, which
        # is what it is cut for.
        encoded = tokenizer(
            piece,
            add_special_tokens=False,
            return_offsets_mapping=True,
            return_attention_mask=False,
            truncation=False,
            verbose=False,
        )
        offsets.extend((first + start, first + end) for start, end in encoded["offset_mapping"])
    return offsets


def windows(num: int, settings: Chunking) -> Iterator[tuple[int, int]]:
    """Half-open token range of each window over `num` tokens.

    A tail that lies wholly inside the former window is not a window of its own.
    """
    step = settings.num_tokens - settings.overlap
    for start in range(0, num, step):
        end = min(start + settings.num_tokens, num)
        yield start, end
        if end == num:
            return


def _pieces(text: str) -> Iterable[tuple[int, str]]:
    """First character and text of pieces that are cut before white space where there is any."""
    start = 0
    while start < len(text):
        end = start + _PIECE_CHARACTERS
        if end < len(text):
            cut = max(text.rfind(" ", start + 1, end), text.rfind("\n", start + 1, end))
            end = cut if cut > start else end
        yield start, text[start:end]
        start = end


def _passages(document: Document, offsets: Offsets, settings: Chunking) -> Iterator[Passage]:
    number = 0
    for first, last in windows(len(offsets), settings):
        start, end = offsets[first][0], offsets[last - 1][1]
        if not document.text[start:end].strip():
            continue
        yield Passage(
            id=f"{document.corpus}/{document.id}#{number}",
            document=document.id,
            text=document.text[start:end],
            start=start,
            end=end,
            num_tokens=last - first,
        )
        number += 1
