from dataclasses import replace

import numpy as np
import pytest

from ctxaudit import responding
from ctxaudit.config.conflict import Generation
from ctxaudit.errors import UserError
from ctxaudit.generation import generate
from ctxaudit.interface import Example, Source
from ctxaudit.prompts import PromptTemplate
from ctxaudit.steering.injection import Steering
from tests.unit import tiny_models

TEMPLATES = {
    "reasoning": PromptTemplate(
        chat=False,
        with_sources="w2 {sources} w3 {query}",
        without_sources="w3 {query}",
        separator=" ",
    ),
    "summarization": PromptTemplate(
        chat=False, with_sources="{query} {sources}", without_sources="{query}", separator=" "
    ),
}
SETTINGS = Generation(max_new_tokens=5, batch_size=2)


def example(name, *texts, task="reasoning", part="test", twin="conflict", kind="temporal"):
    return Example(
        id=name,
        query="w9",
        sources=tuple(Source(id=f"{name}{n}", text=text) for n, text in enumerate(texts)),
        task=task,
        gold="w1",
        tags={"part": part, "twin": twin, "conflict_type": kind},
    )


EXAMPLES = [
    example("a", "w10 w11", "w12"),
    example("b", "w20", task="summarization"),
    example("c", "w30 w31 w32", "w33", "w34"),
]


def test_prompts_hold_all_or_one_piece_of_evidence():
    tokenizer = tiny_models.tokenizer()
    assert responding.combined_prompt(EXAMPLES[0], TEMPLATES, tokenizer) == [2, 10, 11, 12, 3, 9]
    assert responding.combined_prompt(EXAMPLES[1], TEMPLATES, tokenizer) == [9, 20]
    assert responding.single_prompts(EXAMPLES[0], TEMPLATES, tokenizer) == [
        [2, 10, 11, 3, 9],
        [2, 12, 3, 9],
    ]


def test_responses_are_what_generation_gives():
    model = tiny_models.llama()
    prompts = [responding.combined_prompt(e, TEMPLATES, model.tokenizer) for e in EXAMPLES]
    expected = generate(model, prompts, max_new_tokens=5, batch_size=1)
    found = responding.respond(EXAMPLES, model=model, templates=TEMPLATES, settings=SETTINGS)
    assert [item.example_id for item in found] == ["a", "b", "c"]
    assert [(item.text, item.finish) for item in found] == [
        (item.text, item.finish) for item in expected
    ]


def test_steering_changes_responses_and_zero_steering_does_not():
    model = tiny_models.llama()
    rows = np.random.default_rng(0).normal(size=(3, 32))

    def run(alpha):
        steering = Steering(direction=rows, alpha=alpha, schedule="all_tokens")
        return responding.respond(
            EXAMPLES, model=model, templates=TEMPLATES, settings=SETTINGS, steering=steering
        )

    plain = responding.respond(EXAMPLES, model=model, templates=TEMPLATES, settings=SETTINGS)
    assert run(0.0) == plain
    assert run(2.0) != plain


def test_each_type_is_steered_along_its_own_direction():
    model = tiny_models.llama()
    rng = np.random.default_rng(0)
    directions = {kind: rng.normal(size=(3, 32)) for kind in ("temporal", "ambiguity")}
    examples = [EXAMPLES[0], example("d", "w40", "w41", kind="ambiguity"), EXAMPLES[2]]
    common = {"model": model, "templates": TEMPLATES, "settings": SETTINGS}
    found = responding.respond_steered(
        examples, directions, alpha=2.0, schedule="all_tokens", layers=[1, 2], **common
    )
    for one, response in zip(examples, found, strict=True):
        steering = Steering(
            direction=directions[one.tags["conflict_type"]],
            alpha=2.0,
            schedule="all_tokens",
            layers=(1, 2),
        )
        assert responding.respond([one], steering=steering, **common) == [response]


def test_the_example_that_does_not_fit_is_named():
    model = replace(tiny_models.llama(), load_network=lambda: None, max_tokens=12)
    with pytest.raises(UserError, match="example 'c': 8 tokens and 5 new ones"):
        responding.respond(EXAMPLES, model=model, templates=TEMPLATES, settings=SETTINGS)


def test_an_example_without_evidence_is_named():
    model = replace(tiny_models.llama(), load_network=lambda: None)
    with pytest.raises(UserError, match="example 'd': no sources"):
        responding.respond(
            [*EXAMPLES, example("d")], model=model, templates=TEMPLATES, settings=SETTINGS
        )


def test_the_subset_is_of_conflicts_in_the_test_part_and_only_grows():
    examples = [
        example(f"{kind}{n}", "w5", kind=kind, part=part, twin=twin)
        for kind in ("temporal", "ambiguity")
        for n, (part, twin) in enumerate(
            [("test", "conflict")] * 6 + [("test", "consistent"), ("calibration", "conflict")]
        )
    ]
    chosen = {n: responding.test_subset(examples, n, seed=3) for n in (2, 4, None)}
    assert [len(found) for found in chosen.values()] == [4, 8, 12]
    assert {e.id for e in chosen[2]} < {e.id for e in chosen[4]} < {e.id for e in chosen[None]}
    assert all(int(e.id[-1]) < 6 for e in chosen[None])
    assert responding.test_subset(examples[::-1], 2, seed=3) == chosen[2]
    assert responding.test_subset(examples, 2, seed=4) != chosen[2]
