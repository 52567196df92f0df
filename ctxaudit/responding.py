"""Which examples are answered, with which prompts, and the answers."""

import contextlib
import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from ctxaudit import prompts
from ctxaudit.config.conflict import Generation
from ctxaudit.errors import UserError
from ctxaudit.generation import check_fit, generate
from ctxaudit.interface import Example, FloatArray, Response, Task
from ctxaudit.models import LanguageModel
from ctxaudit.prompts import PromptTemplate
from ctxaudit.steering.injection import Schedule, Steering, steer


def test_subset(
    examples: Sequence[Example], num_per_type: int | None, *, seed: int
) -> list[Example]:
    """Conflict examples of the test part, at most `num_per_type` per conflict type.

    Chosen and ordered by a hash of seed and id: the same whatever the order of the file, and a
    larger number only adds.
    """
    by_type = defaultdict(list)
    for example in examples:
        if example.tags["part"] == "test" and example.tags["twin"] == "conflict":
            by_type[example.tags["conflict_type"]].append(example)
    return [
        example
        for name in sorted(by_type)
        for example in sorted(by_type[name], key=lambda e: _rank(e.id, seed))[:num_per_type]
    ]


def combined_prompt(
    example: Example, templates: Mapping[Task, PromptTemplate], tokenizer: Any
) -> list[int]:
    """Token ids of the prompt with all the evidence.

    Raises:
        UserError: if the example has no evidence.
    """
    if not example.sources:
        raise UserError(f"example '{example.id}': no sources; at least one piece of evidence")
    texts = [source.text for source in example.sources]
    return prompts.prompt_ids(templates[example.task], tokenizer, example.query, texts)


def single_prompts(
    example: Example, templates: Mapping[Task, PromptTemplate], tokenizer: Any
) -> list[list[int]]:
    """Token ids of S prompts, each with one piece of evidence; templates of their own."""
    return [
        prompts.prompt_ids(templates[example.task], tokenizer, example.query, [source.text])
        for source in example.sources
    ]


def respond(
    examples: Sequence[Example],
    *,
    model: LanguageModel,
    templates: Mapping[Task, PromptTemplate],
    settings: Generation,
    steering: Steering | None = None,
) -> list[Response]:
    """One greedy response per example, in order; an empty one is a response too.

    Raises:
        UserError: before anything is generated, naming the first example that has no evidence or
            does not fit the window.
    """
    ids = _fitting_prompts(examples, model, templates, settings)
    with contextlib.nullcontext() if steering is None else steer(model, steering):
        found = generate(
            model, ids, max_new_tokens=settings.max_new_tokens, batch_size=settings.batch_size
        )
    return [
        Response(example_id=example.id, text=item.text, finish=item.finish)
        for example, item in zip(examples, found, strict=True)
    ]


def respond_steered(
    examples: Sequence[Example],
    directions: Mapping[str, FloatArray],
    *,
    alpha: float,
    schedule: Schedule,
    layers: Sequence[int] | None,
    model: LanguageModel,
    templates: Mapping[Task, PromptTemplate],
    settings: Generation,
) -> list[Response]:
    """The same, each example steered along the direction of its conflict type."""
    # A fault of the last type must show before the first one is generated.
    _fitting_prompts(examples, model, templates, settings)
    found = {}
    for conflict_type, direction in directions.items():
        steering = Steering(
            direction=direction,
            alpha=alpha,
            schedule=schedule,
            layers=None if layers is None else tuple(layers),
        )
        of_type = [e for e in examples if e.tags["conflict_type"] == conflict_type]
        responses = respond(
            of_type, model=model, templates=templates, settings=settings, steering=steering
        )
        found.update({response.example_id: response for response in responses})
    return [found[example.id] for example in examples]


def _fitting_prompts(
    examples: Sequence[Example],
    model: LanguageModel,
    templates: Mapping[Task, PromptTemplate],
    settings: Generation,
) -> list[list[int]]:
    """Prompts with all the evidence; UserError names the example that does not fit the window."""
    ids = [combined_prompt(example, templates, model.tokenizer) for example in examples]
    names = [f"example '{example.id}'" for example in examples]
    check_fit(model, ids, [settings.max_new_tokens] * len(ids), names=names)
    return ids


def _rank(name: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}/{name}".encode()).digest()
