"""Answers of a model while its residual stream is steered."""

from collections.abc import Mapping, Sequence

from ctxaudit.config.conflict import Generation
from ctxaudit.generation import check_fit, generate
from ctxaudit.interface import Example, FloatArray, Response, Task
from ctxaudit.models import LanguageModel
from ctxaudit.prompts import PromptTemplate
from ctxaudit.responding import combined_prompt
from ctxaudit.steering.injection import Schedule, Steering, steer


def respond_by_type(
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
    """One response per example, each steered along the direction of its conflict type.

    Raises:
        UserError: before anything is generated, naming the first example that has no evidence or
            does not fit the window.
    """
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
        responses = respond(of_type, steering, model=model, templates=templates, settings=settings)
        found.update({response.example_id: response for response in responses})
    return [found[example.id] for example in examples]


def respond(
    examples: Sequence[Example],
    steering: Steering,
    *,
    model: LanguageModel,
    templates: Mapping[Task, PromptTemplate],
    settings: Generation,
) -> list[Response]:
    """One greedy response per example, all steered alike; raises as `respond_by_type`."""
    ids = _fitting_prompts(examples, model, templates, settings)
    with steer(model, steering):
        found = generate(
            model, ids, max_new_tokens=settings.max_new_tokens, batch_size=settings.batch_size
        )
    return [
        Response(example_id=example.id, text=item.text, finish=item.finish)
        for example, item in zip(examples, found, strict=True)
    ]


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
