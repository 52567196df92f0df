"""Question with gold answer → nearest passages (overlap study, algorithm 1, lines 9–12)."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ctxaudit.config.overlap import Retrieval
from ctxaudit.corpora.embedding import Embedder, Embeddings
from ctxaudit.errors import UserError
from ctxaudit.interface import Candidate, Example, Passage
from ctxaudit.logs import logger

_QUERIES_TOGETHER = 64
"""Bounds the memory of the ranking, which is queries × passages."""


def retrieve(
    questions: Sequence[Example],
    passages: Sequence[Passage],
    index: Any,
    embedder: Embedder,
    settings: Retrieval,
) -> list[Candidate]:
    """The nearest passages of each question by cosine, nearest first.

    Of equally near passages the earlier comes first. A corpus with fewer passages than
    `num_candidates` gives all it has.

    Args:
        questions: Q questions with gold answers.
        passages: N passages, in the order of the index.
        index: FAISS index of their embeddings.
        embedder: Embeds the queries; the model that embedded the passages.
        settings: How many candidates.
    """
    if index.ntotal != len(passages):
        raise UserError(
            f"the index holds {index.ntotal} passages, the passage file {len(passages)}; "
            "delete the index and run again"
        )
    num = min(settings.num_candidates, len(passages))
    if num < settings.num_candidates:
        logger.warning("%d candidates wanted, the corpus has %d", settings.num_candidates, num)
    queries = embedder.embed_queries([query_of(question) for question in questions])
    return [
        Candidate(
            example_id=question.id, passage=passages[position], rank=rank, similarity=similarity
        )
        for question, nearest in zip(questions, _nearest(index, queries, num), strict=True)
        for rank, (position, similarity) in enumerate(nearest)
    ]


def _nearest(index: Any, queries: Embeddings, num: int) -> Iterator[list[tuple[int, float]]]:
    """Position and cosine of the `num` nearest passages of each query."""
    for first in range(0, len(queries), _QUERIES_TOGETHER):
        # faiss leaves the order of ties open, also at the cut, so all are ranked here.
        found = index.search(queries[first : first + _QUERIES_TOGETHER], index.ntotal)
        for cosines, positions in zip(*found, strict=True):
            order = np.lexsort((positions, -cosines))[:num]
            yield [(int(positions[at]), float(cosines[at])) for at in order]


def query_of(question: Example) -> str:
    """Question and gold answer joined by a blank; a statement's stem becomes the statement."""
    if not question.gold:
        raise UserError(f"question '{question.id}': gold: missing; retrieval needs the answer")
    return f"{question.query} {question.gold}"
