"""A judge scores each candidate's relevance (overlap study, algorithm 1, lines 13–15)."""

from collections.abc import Sequence
from dataclasses import replace

from ctxaudit import prompts
from ctxaudit.errors import UserError
from ctxaudit.interface import Candidate, Example
from ctxaudit.llm.client import Client
from ctxaudit.llm.requests import ChatRequest
from ctxaudit.prompts import TaskPrompt

_MAX_NEW_TOKENS = 16


def rerank(
    questions: Sequence[Example],
    candidates: Sequence[Candidate],
    client: Client,
    prompt: TaskPrompt,
) -> list[Candidate]:
    """The candidates in their order, with relevance in [0, 10] or NaN and its reason.

    Args:
        questions: The questions that the candidates name.
        candidates: All candidates of one corpus.
        client: The judge.
        prompt: User text with `{question}`, `{answer}` and `{passage}`.
    """
    by_id = {question.id: question for question in questions}
    requests = []
    for candidate in candidates:
        question = by_id.get(candidate.example_id)
        if question is None:
            raise UserError(
                f"candidate {candidate.passage.id}: question '{candidate.example_id}' is not in "
                "the question file; delete the candidates and run again"
            )
        values = {
            "question": question.query,
            "answer": question.gold or "",
            "passage": candidate.passage.text,
        }
        requests.append(
            ChatRequest(
                model=client.name,
                messages=prompts.task_messages(prompt, values),
                max_new_tokens=_MAX_NEW_TOKENS,
                chat=prompt.chat,
            )
        )
    return [
        replace(candidate, relevance=rating.score, reason=rating.reason)
        for candidate, rating in zip(candidates, client.rate(requests), strict=True)
    ]
