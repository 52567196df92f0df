from dataclasses import replace

import numpy as np
import pytest

from ctxaudit.config.conflict import Generation
from ctxaudit.errors import UserError
from ctxaudit.generation import generate
from ctxaudit.interface import Example, Source
from ctxaudit.prompts import PromptTemplate
from ctxaudit.responding import combined_prompt
from ctxaudit.steering import responses
from ctxaudit.steering.injection import Steering
from tests.unit import tiny_models

TEMPLATES = {
    "reasoning": PromptTemplate(
        chat=False,
        with_sources="w2 {sources} w3 {query}",
        without_sources="w3 {query}",
        separator=" ",
    )
}
SETTINGS = Generation(max_new_tokens=5, batch_size=2)
COMMON = {"templates": TEMPLATES, "settings": SETTINGS}


def example(name, *texts, kind="temporal"):
    return Example(
        id=name,
        query="w9",
        sources=tuple(Source(id=f"{name}{n}", text=text) for n, text in enumerate(texts)),
        task="reasoning",
        gold="w1",
        tags={"part": "test", "twin": "conflict", "conflict_type": kind},
    )


EXAMPLES = [
    example("a", "w10 w11", "w12"),
    example("b", "w20"),
    example("c", "w30 w31 w32", "w33", "w34"),
]


def test_steering_changes_responses_and_zero_steering_does_not():
    model = tiny_models.llama()
    rows = np.random.default_rng(0).normal(size=(3, 32))
    prompts = [combined_prompt(e, TEMPLATES, model.tokenizer) for e in EXAMPLES]
    plain = [item.text for item in generate(model, prompts, max_new_tokens=5, batch_size=2)]

    def run(alpha):
        steering = Steering(direction=rows, alpha=alpha, schedule="all_tokens")
        return [item.text for item in responses.respond(EXAMPLES, steering, model=model, **COMMON)]

    assert run(0.0) == plain
    assert run(2.0) != plain


def test_each_type_is_steered_along_its_own_direction():
    model = tiny_models.llama()
    rng = np.random.default_rng(0)
    directions = {kind: rng.normal(size=(3, 32)) for kind in ("temporal", "ambiguity")}
    examples = [EXAMPLES[0], example("d", "w40", "w41", kind="ambiguity"), EXAMPLES[2]]
    found = responses.respond_by_type(
        examples,
        directions,
        alpha=2.0,
        schedule="all_tokens",
        layers=[1, 2],
        model=model,
        **COMMON,
    )
    for one, response in zip(examples, found, strict=True):
        steering = Steering(
            direction=directions[one.tags["conflict_type"]],
            alpha=2.0,
            schedule="all_tokens",
            layers=(1, 2),
        )
        assert responses.respond([one], steering, model=model, **COMMON) == [response]


def test_the_example_that_does_not_fit_is_named():
    model = replace(tiny_models.llama(), load_network=lambda: None, max_tokens=12)
    with pytest.raises(UserError, match="example 'c': 8 tokens and 5 new ones"):
        responses.respond_by_type(
            EXAMPLES,
            {},
            alpha=1.0,
            schedule="all_tokens",
            layers=None,
            model=model,
            **COMMON,
        )
