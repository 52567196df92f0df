import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ctxaudit import prompts
from ctxaudit.corpora import reranking
from ctxaudit.errors import UserError
from ctxaudit.interface import Candidate, Example, Passage
from ctxaudit.llm.requests import ChatRequest, Rating
from ctxaudit.prompts import TaskPrompt

ROOT = Path(__file__).parents[2]


class Judge:
    """Rates by the length of the last message; one rating is undefined."""

    name = "judge"

    def rate(self, requests: Sequence[ChatRequest]) -> list[Rating]:
        self.asked = [request.messages[-1]["content"] for request in requests]
        return [Rating(score=3.0), Rating(score=math.nan, reason="unparsable")]


def candidate(name: str, question: str = "q") -> Candidate:
    passage = Passage(id=name, document=name, text="{answer}", start=0, end=8, num_tokens=1)
    return Candidate(example_id=question, passage=passage, rank=0, similarity=0.5)


QUESTION = Example(id="q", query="pulled by", sources=(), task="multiple_choice", gold="oxen")
PROMPT = TaskPrompt(user="{question}|{answer}|{passage}")


def test_scores_and_reasons_stay_with_their_candidates():
    judge: Any = Judge()
    rated = reranking.rerank([QUESTION], [candidate("a"), candidate("b")], judge, PROMPT)
    assert [c.passage.id for c in rated] == ["a", "b"]
    assert rated[0].relevance == 3.0
    assert math.isnan(rated[1].relevance)
    assert rated[1].reason == "unparsable"
    assert judge.asked[0] == "pulled by|oxen|{answer}"


def test_a_candidate_of_an_unknown_question_is_refused():
    judge: Any = Judge()
    with pytest.raises(UserError, match="question 'other' is not in"):
        reranking.rerank([QUESTION], [candidate("a", "other")], judge, PROMPT)


def test_the_prompt_of_the_configuration_shows_all_three():
    prompt = prompts.read_task(ROOT / "config/prompts/rerank.yaml")
    values = {"question": "Q?", "answer": "A!", "passage": "P."}
    shown = prompts.task_messages(prompt, values)[-1]["content"]
    assert all(value in shown for value in values.values())
    for example in prompt.examples:
        assert set(example.values) == set(values)
        assert 0 <= int(example.reply) <= 10


def test_a_plain_prompt_is_one_text_that_the_score_continues():
    values = {"question": "Q", "answer": "{a}", "passage": "P"}
    prompt = TaskPrompt(
        chat=False,
        system="Score.",
        examples=({"values": values, "reply": "10"},),
        user="{passage}: {question} {answer} = ",
    )
    (message,) = prompts.task_messages(prompt, {**values, "passage": "other"})
    assert message["content"] == "Score.\n\nP: Q {a} = 10\n\nother: Q {a} = "
