"""Records of mean size, in place of those that a stage has not made yet."""

from ctxaudit.config.planning import Planning
from ctxaudit.interface import Candidate, Example, Passage, Source
from ctxaudit.planning.workload import InstanceLoad, QuestionLoad

_NAME = "stand-in"


def question(sizes: QuestionLoad, planning: Planning) -> Example:
    """A question with its gold answer."""
    return Example(
        id=_NAME,
        query=_text(sizes.query_tokens, planning),
        gold=_text(sizes.choice_tokens, planning),
        sources=(),
        task="multiple_choice",
    )


def candidate(tokens: float, planning: Planning) -> Candidate:
    """A passage of so many tokens for that question."""
    text = _text(tokens, planning)
    passage = Passage(
        id=_NAME, document=_NAME, text=text, start=0, end=len(text), num_tokens=round(tokens)
    )
    return Candidate(example_id=_NAME, passage=passage, rank=0, similarity=0.0)


def context(segments: list[float], planning: Planning) -> Example:
    """A question with segments of so many tokens."""
    return Example(id=_NAME, query="", sources=_sources(segments, planning), task="multiple_choice")


def instance(sizes: InstanceLoad, num_pieces: int, planning: Planning) -> Example:
    """An instance of a conflict with so many pieces of evidence."""
    return Example(
        id=_NAME,
        query=_text(sizes.query_tokens, planning),
        sources=_sources([sizes.piece_tokens] * num_pieces, planning),
        task=sizes.task,
    )


def _sources(lengths: list[float], planning: Planning) -> tuple[Source, ...]:
    return tuple(
        Source(id=f"{_NAME} {number}", text=_text(tokens, planning))
        for number, tokens in enumerate(lengths, start=1)
    )


def _text(tokens: float, planning: Planning) -> str:
    return "x" * round(tokens * planning.characters_per_token)
