import math
from collections import Counter

import pytest

from ctxaudit.corpora import selection
from ctxaudit.errors import UserError
from ctxaudit.interface import Candidate, Example, Passage


def candidate(
    name: str, relevance: float, *, similarity: float = 0.5, rank: int = 0, question: str = "q"
) -> Candidate:
    passage = Passage(id=name, document=name, text=f"t {name[1:]}", start=0, end=2, num_tokens=1)
    return Candidate(
        example_id=question,
        passage=passage,
        rank=rank,
        similarity=similarity,
        relevance=relevance,
    )


def question(name: str = "q") -> Example:
    return Example(id=name, query="?", sources=(), task="multiple_choice", gold="a")


def test_relevance_then_similarity_then_rank_and_undefined_last():
    ordered = [
        candidate("a", 9),
        candidate("b", 5, similarity=0.9),
        candidate("c", 5, similarity=0.2, rank=1),
        candidate("d", 5, similarity=0.2, rank=2),
        candidate("e", 0),
        candidate("f", math.nan, similarity=1.0),
    ]
    assert selection.rank(ordered[::-1]) == ordered


def test_the_best_of_both_corpora_carry_their_provenance():
    retain = [candidate(f"r{n}", n) for n in range(4)]
    forget = [candidate(f"f{n + 4}", n) for n in range(4)]
    (example,) = selection.select([question()], retain, forget, num_iw=2, num_icl=1, seed=1)
    found = {(source.id, source.provenance) for source in example.sources}
    assert found == {("r3", "iw"), ("r2", "iw"), ("f7", "icl")}
    assert example.tags["shared_passage"] == "no"


def test_a_text_of_both_corpora_is_flagged():
    (example,) = selection.select(
        [question()], [candidate("r1", 1)], [candidate("f1", 1)], num_iw=1, num_icl=1, seed=1
    )
    assert example.tags["shared_passage"] == "yes"


def test_the_order_depends_on_seed_and_question_alone_and_tells_nothing():
    names = [f"q{n}" for n in range(200)]
    retain = [candidate("r1", 1, question=name) for name in names]
    forget = [candidate("f2", 1, question=name) for name in names]
    asked = [question(name) for name in names]
    first = selection.select(asked, retain, forget, num_iw=1, num_icl=1, seed=1)
    again = selection.select(asked[::-1], retain, forget, num_iw=1, num_icl=1, seed=1)
    assert first == again[::-1]
    assert first != selection.select(asked, retain, forget, num_iw=1, num_icl=1, seed=2)
    counts = Counter(example.sources[0].provenance for example in first)
    # Binomial(200, 1/2): four standard deviations are 28.
    assert abs(counts["iw"] - 100) < 29


def test_too_few_candidates_name_question_and_corpus():
    with pytest.raises(UserError, match="question 'q': forget corpus: 1 candidates"):
        selection.select(
            [question()], [candidate("r", 1)], [candidate("f", 1)], num_iw=1, num_icl=2, seed=1
        )
