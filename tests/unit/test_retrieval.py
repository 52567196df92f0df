from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from ctxaudit.config.overlap import Retrieval
from ctxaudit.corpora import index, retrieval
from ctxaudit.errors import UserError
from ctxaudit.interface import Example, Passage


class Fixed:
    """An embedder with the given query vectors."""

    def __init__(self, vectors: np.ndarray) -> None:
        self.vectors = vectors
        self.queries: list[str] = []

    def embed_queries(self, queries: Sequence[str]) -> np.ndarray:
        self.queries = list(queries)
        return self.vectors


def unit(rows: int, seed: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(rows, 8)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def passages(num: int) -> list[Passage]:
    return [
        Passage(id=f"c/{n}#0", document=str(n), text=f"t{n}", start=0, end=2, num_tokens=1)
        for n in range(num)
    ]


def question(name: str, gold: str | None = "grey oxen") -> Example:
    return Example(id=name, query="It is pulled by", sources=(), task="multiple_choice", gold=gold)


def test_the_nearest_are_those_of_brute_force(tmp_path: Path):
    stored, queries = unit(70, 0), unit(66, 1)
    index.write(tmp_path / "c.faiss", index.build(stored))
    embedder = Fixed(queries)
    found = retrieval.retrieve(
        [question(str(n)) for n in range(66)],
        passages(70),
        index.read(tmp_path / "c.faiss"),
        embedder,
        Retrieval(num_candidates=5),
    )
    expected = np.argsort(-(queries @ stored.T), axis=1)[:, :5]
    assert [int(c.passage.document) for c in found] == expected.ravel().tolist()
    assert [c.rank for c in found] == list(range(5)) * 66
    cosines = np.take_along_axis(queries @ stored.T, expected, axis=1).ravel()
    # float32 sums in another order.
    np.testing.assert_allclose([c.similarity for c in found], cosines, atol=1e-6)
    assert embedder.queries[0] == "It is pulled by grey oxen"


def test_equally_near_passages_keep_their_order_also_at_the_cut():
    stored = np.repeat(unit(1, 0), 6, axis=0)
    found = retrieval.retrieve(
        [question("q")],
        passages(6),
        index.build(stored),
        Fixed(stored[:1]),
        Retrieval(num_candidates=3),
    )
    assert [c.passage.document for c in found] == ["0", "1", "2"]


def test_a_small_corpus_gives_all_it_has(caplog: pytest.LogCaptureFixture):
    stored = unit(2, 0)
    found = retrieval.retrieve(
        [question("q")],
        passages(2),
        index.build(stored),
        Fixed(stored[:1]),
        Retrieval(num_candidates=4),
    )
    assert len(found) == 2
    assert "4 candidates wanted, the corpus has 2" in caplog.text


def test_a_question_without_answer_and_an_index_of_another_corpus_are_refused(tmp_path: Path):
    stored = unit(2, 0)
    with pytest.raises(UserError, match="question 'q': gold"):
        retrieval.query_of(question("q", gold=None))
    with pytest.raises(UserError, match="index holds 2 passages, the passage file 3"):
        retrieval.retrieve(
            [question("q")], passages(3), index.build(stored), Fixed(stored[:1]), Retrieval()
        )
    (tmp_path / "c.faiss").write_bytes(b"no index")
    with pytest.raises(UserError, match="FAISS"):
        index.read(tmp_path / "c.faiss")
