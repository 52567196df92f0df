"""Ablation and answer tables: the set function v of each example where it was asked for."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from ctxaudit import prompts
from ctxaudit.ablation import choices
from ctxaudit.ablation.choices import Scoring
from ctxaudit.ablation.masks import all_masks
from ctxaudit.ablation.plain import LogProbs
from ctxaudit.ablation.scorer import ScoreRequest, check, score
from ctxaudit.ablation.store import ScoreStore
from ctxaudit.errors import UserError
from ctxaudit.interface import Ablations, Answers, BoolArray, Example, FloatArray, Response
from ctxaudit.matching import matched
from ctxaudit.models import LanguageModel
from ctxaudit.prompts import PromptTemplate

_Row = tuple[tuple[int, int], list[ScoreRequest]]
"""Number of an example, row of its masks, and what is asked there."""

_GROUP_TOKENS = 2**18
"""Tokens that are scored together: enough to fill batches, few enough for any memory."""


def score_ablations(
    examples: Sequence[Example],
    responses: Sequence[Response],
    masks: Sequence[BoolArray],
    *,
    model: LanguageModel,
    template: PromptTemplate,
    scoring: Scoring = "option_text",
    batch_tokens: int,
    store: ScoreStore | None = None,
) -> list[Ablations]:
    """Score each example's response under each of its masks, the end token last.

    Args:
        examples: The examples.
        responses: One per example, matched by its id.
        masks: Per example, (A, S) bool.
        model: The scorer.
        template: How query and kept sources become a prompt.
        scoring: How options are shown and answered, see `ctxaudit.ablation.choices`.
        batch_tokens: Upper limit of tokens in one forward pass.
        store: Where scores are looked up and kept.

    Raises:
        UserError: if an example has no response, or a prompt exceeds the window.
    """
    responses = matched(examples, responses, "response")
    tasks = [
        _task(choices.shown(example, scoring), mask, [text], model, template)
        for example, mask, response in zip(examples, masks, responses, strict=True)
        for text in [choices.answer(example, response.text, scoring)]
    ]
    scored = _score_tasks(tasks, model, template, batch_tokens, store)
    return [
        Ablations(
            example_id=example.id,
            masks=mask,
            logprobs=np.stack(values).astype(np.float64),
            has_end_token=True,
        )
        for example, mask, values in zip(examples, masks, scored, strict=True)
    ]


def score_all_subsets(
    examples: Sequence[Example],
    responses: Sequence[Response],
    *,
    max_sources: int,
    model: LanguageModel,
    template: PromptTemplate,
    batch_tokens: int,
    store: ScoreStore | None = None,
) -> list[Ablations]:
    """Score the responses to these examples under all subsets of their sources.

    Responses to other examples are left aside, and so are examples without a response.

    Raises:
        UserError: if an example has more than `max_sources` sources.
    """
    by_id = {response.example_id: response for response in responses}
    answered = [example for example in examples if example.id in by_id]
    for example in answered:
        if len(example.sources) > max_sources:
            raise UserError(
                f"example '{example.id}': {len(example.sources)} sources have "
                f"2^{len(example.sources)} subsets; conflict.balance.exact_limit allows "
                f"{max_sources}"
            )
    return score_ablations(
        answered,
        [by_id[example.id] for example in answered],
        [all_masks(len(example.sources)) for example in answered],
        model=model,
        template=template,
        batch_tokens=batch_tokens,
        store=store,
    )


def score_answers(
    examples: Sequence[Example],
    masks: Sequence[BoolArray],
    *,
    model: LanguageModel,
    template: PromptTemplate,
    scoring: Scoring,
    batch_tokens: int,
    store: ScoreStore | None = None,
) -> list[Answers]:
    """Score every option of multiple-choice examples under each mask.

    The score of an option is without the end token, which is evaluated all the same: the option
    that becomes the response is then in the store for `score_ablations`.

    Raises:
        UserError: if an example has no options, no gold option or more options than letters.
    """
    for example in examples:
        choices.check(example, scoring)
    tasks = [
        _task(choices.shown(example, scoring), mask, texts, model, template)
        for example, mask in zip(examples, masks, strict=True)
        for texts in [[choices.answer(example, text, scoring) for text in example.choices]]
    ]
    scored = _score_tasks(tasks, model, template, batch_tokens, store)
    return [
        Answers(
            example_id=example.id,
            masks=mask,
            scores=_sums(values).reshape(len(mask), -1),
            gold_index=example.gold_index,
        )
        for example, mask, values in zip(examples, masks, scored, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _Task:
    """Responses (token ids) to score under each mask of one example."""

    example: Example
    masks: BoolArray
    responses: list[tuple[int, ...]]


def _task(
    example: Example,
    masks: BoolArray,
    responses: Sequence[str],
    model: LanguageModel,
    template: PromptTemplate,
) -> _Task:
    ids = [prompts.response_ids(template, model.tokenizer, text) for text in responses]
    return _Task(example, masks, [tuple(response) for response in ids])


def _score_tasks(
    tasks: Sequence[_Task],
    model: LanguageModel,
    template: PromptTemplate,
    batch_tokens: int,
    store: ScoreStore | None,
) -> list[list[LogProbs]]:
    """Scores of each task's requests: mask by mask, then response by response."""
    _check_longest(tasks, model, template)
    rows = [(task, row) for task in range(len(tasks)) for row in _by_prefix(tasks[task].masks)]
    asked = (
        ((task, row), _requests(tasks[task], tasks[task].masks[row], model, template))
        for task, row in rows
    )
    found: dict[tuple[int, int], list[LogProbs]] = {}
    for group in _groups(asked):
        requests = [request for _, of_row in group for request in of_row]
        values = iter(score(model, requests, batch_tokens=batch_tokens, store=store))
        found.update({place: list(islice(values, len(of_row))) for place, of_row in group})
    return [
        [values for row in range(len(task.masks)) for values in found[number, row]]
        for number, task in enumerate(tasks)
    ]


def _by_prefix(masks: BoolArray) -> list[int]:
    """Rows of masks (A, S) in the order of their kept sources: neighbours share the most."""
    return sorted(range(len(masks)), key=lambda row: tuple(np.flatnonzero(masks[row])))


def _groups(asked: Iterable[_Row]) -> Iterator[list[_Row]]:
    """Consecutive rows of at least `_GROUP_TOKENS` tokens; only one group is held at a time."""
    group: list[_Row] = []
    num_tokens = 0
    for row in asked:
        group.append(row)
        num_tokens += sum(len(request.prompt) + len(request.response) for request in row[1])
        if num_tokens >= _GROUP_TOKENS:
            yield group
            group, num_tokens = [], 0
    if group:
        yield group


def _check_longest(tasks: Sequence[_Task], model: LanguageModel, template: PromptTemplate) -> None:
    """Find over-long prompts before the first group is scored, by each task's fullest mask."""
    requests = [
        request
        for task in tasks
        for request in _requests(task, task.masks[task.masks.sum(axis=1).argmax()], model, template)
    ]
    check(requests, max_tokens=model.max_tokens)


def _requests(
    task: _Task, mask: BoolArray, model: LanguageModel, template: PromptTemplate
) -> list[ScoreRequest]:
    """Every response under one mask (S,)."""
    shown = tuple(prompts.masked_prompt_ids(template, model.tokenizer, task.example, mask))
    label = f"example '{task.example.id}'"
    return [ScoreRequest(shown, response, label) for response in task.responses]


def _sums(values: Sequence[LogProbs]) -> FloatArray:
    return np.array([item[:-1].sum(dtype=np.float64) for item in values])
