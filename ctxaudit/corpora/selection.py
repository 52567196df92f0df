"""The most relevant candidates of both corpora → the shuffled sources of each question.

Overlap study, algorithm 1, line 16, and section 4, steps 2 and 3.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ctxaudit import seeds
from ctxaudit.errors import UserError
from ctxaudit.interface import Candidate, Example, Provenance, Source
from ctxaudit.logs import logger

Grouped = Mapping[str, Sequence[Candidate]]


def select(
    questions: Sequence[Example],
    retain: Sequence[Candidate],
    forget: Sequence[Candidate],
    *,
    num_iw: int,
    num_icl: int,
    seed: int,
) -> list[Example]:
    """Each question with its `num_iw` + `num_icl` best segments in a shuffled order.

    The order depends on seed and question id alone. The tag `shared_passage` says whether a text
    stands among both the in-weight and the in-context segments of a question ("yes", "no"),
    where the provenance label has no meaning.

    Raises:
        UserError: naming question and corpus, where there are fewer candidates than wanted.
    """
    trained, held_out = _by_question(retain), _by_question(forget)
    examples = []
    for question in questions:
        sources = [
            *_best(question, trained, "iw", num_iw),
            *_best(question, held_out, "icl", num_icl),
        ]
        order = seeds.generator(seed, question.id).permutation(len(sources))
        shuffled = tuple(sources[at] for at in order)
        tags = {**question.tags, "shared_passage": "yes" if _is_shared(sources) else "no"}
        examples.append(replace(question, sources=shuffled, tags=tags))
    num_shared = sum(example.tags["shared_passage"] == "yes" for example in examples)
    logger.info("%d contexts, %d with a passage of both corpora", len(examples), num_shared)
    return examples


def rank(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Most relevant first, undefined relevance last; ties by similarity, then by rank."""
    return sorted(
        candidates,
        key=lambda c: (math.isnan(c.relevance), -_defined(c.relevance), -c.similarity, c.rank),
    )


def _defined(relevance: float) -> float:
    return 0.0 if math.isnan(relevance) else relevance


def _by_question(candidates: Sequence[Candidate]) -> Grouped:
    grouped: defaultdict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        grouped[candidate.example_id].append(candidate)
    return grouped


def _best(question: Example, grouped: Grouped, provenance: Provenance, num: int) -> list[Source]:
    candidates = grouped.get(question.id, ())
    if len(candidates) < num:
        corpus = "retain" if provenance == "iw" else "forget"
        raise UserError(
            f"question '{question.id}': {corpus} corpus: {len(candidates)} candidates, "
            f"overlap.reranking.num_{provenance} asks for {num}; raise "
            "overlap.retrieval.num_candidates, add documents, or ask for fewer"
        )
    return [
        Source(id=c.passage.id, text=c.passage.text, provenance=provenance)
        for c in rank(candidates)[:num]
    ]


def _is_shared(sources: Sequence[Source]) -> bool:
    texts: dict[Provenance | None, set[str]] = {"iw": set(), "icl": set()}
    for source in sources:
        texts[source.provenance].add(source.text)
    return not texts["iw"].isdisjoint(texts["icl"])
