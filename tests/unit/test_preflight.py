from dataclasses import replace
from pathlib import Path

import pytest
from transformers import LlamaConfig

from ctxaudit import preflight
from ctxaudit.errors import UserError
from ctxaudit.interface import Example, Source
from ctxaudit.preflight import Demand
from ctxaudit.prompts import PromptTemplate
from tests.unit import tiny_models

COMBINED = PromptTemplate(
    chat=False, with_sources="{sources} {query}", without_sources="w5 {query}", separator=" "
)
SINGLE = COMBINED.model_copy(update={"with_sources": "w7 w7 w7 {sources} {query}"})
QUESTION = Example(
    id="q",
    query="w1 w2 w3",
    sources=(),
    task="multiple_choice",
    choices=("w4", "w4 w5 w6"),
    gold="w4",
)
CONFLICT = Example(
    id="c",
    query="w9",
    sources=(Source(id="1", text="w10 w11"), Source(id="2", text="w12")),
    task="reasoning",
    gold="w1",
)


def test_a_question_needs_its_prompt_without_sources_and_its_longest_option():
    (found,) = preflight.of_questions(
        [QUESTION], template=COMBINED, scoring="option_text", tokenizer=tiny_models.tokenizer()
    )
    # The end token is scored with the option.
    assert (found.num_tokens, found.num_new) == (1 + 3, 3 + 1)
    assert "'q'" in found.name


def test_a_free_form_question_is_refused_by_name():
    free = replace(QUESTION, choices=())
    asked = preflight.of_questions(
        [free], template=COMBINED, scoring="option_text", tokenizer=tiny_models.tokenizer()
    )
    with pytest.raises(UserError, match="example 'q': choices: none; free-form"):
        list(asked)


def test_listed_options_are_part_of_the_prompt():
    (found,) = preflight.of_questions(
        [QUESTION], template=COMBINED, scoring="letter", tokenizer=tiny_models.tokenizer()
    )
    # Each line is a letter and its option; the answer is a letter and the end.
    assert (found.num_tokens, found.num_new) == (1 + 3 + 2 + 4, 1 + 1)


def test_an_instance_needs_room_for_its_response_where_it_is_answered():
    other = replace(CONFLICT, id="twin")
    found = list(
        preflight.of_instances(
            [CONFLICT, other],
            combined={"reasoning": COMBINED},
            single={"reasoning": SINGLE},
            answered=[CONFLICT],
            max_new_tokens=20,
            tokenizer=tiny_models.tokenizer(),
        )
    )
    assert [(demand.num_tokens, demand.num_new) for demand in found] == [
        (4, 20),
        (3 + 2 + 1, 0),
        (3 + 1 + 1, 0),
        (4, 0),
        (6, 0),
        (5, 0),
    ]


def test_the_largest_demand_must_fit_the_window():
    model = tiny_models.llama()
    fits = Demand("fits", tiny_models.WINDOW - 1, 1)
    small = Demand("small", 3, 1)
    assert preflight.check_window(iter([small, fits]), model, name="tiny") == fits
    over = Demand("question 'q7'", tiny_models.WINDOW, 1)
    with pytest.raises(UserError, match=r"question 'q7': 64 tokens and 1 .* 'tiny', 64 tokens"):
        preflight.check_window(iter([small, over, fits]), model, name="tiny")


def test_a_layer_that_the_model_lacks_is_named(tmp_path: Path):
    LlamaConfig(num_hidden_layers=3).save_pretrained(tmp_path)
    manifest = tmp_path / "manifest.json"
    assert preflight.check_layers([1, 3], manifest, name="tiny") == 3
    assert preflight.check_layers(None, manifest, name="tiny") == 3
    with pytest.raises(UserError, match=r"'tiny' has no block 4, 9; allowed are 1 to 3"):
        preflight.check_layers([9, 2, 4], manifest, name="tiny")
