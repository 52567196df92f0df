from dataclasses import replace

import pytest
import torch

from ctxaudit.errors import UserError
from ctxaudit.generation import generate
from tests.unit import tiny_models

BUILDERS = [tiny_models.llama, tiny_models.gpt_neox, tiny_models.gpt_oss]


def greedy_by_hand(model, prompt, limit):
    ids = list(prompt)
    for _ in range(limit):
        with torch.no_grad():
            token = int(model.network(torch.tensor([ids]), use_cache=False).logits[0, -1].argmax())
        if token == 0:
            return ids[len(prompt) :], "stop"
        ids.append(token)
    return ids[len(prompt) :], "length"


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize("batch_size", [1, 4])
def test_equals_greedy_decoding_without_cache_or_padding(build, batch_size):
    model = build()
    prompts = tiny_models.prompts(1, 9, 4, 17, 2, 6)
    found = generate(model, prompts, max_new_tokens=8, batch_size=batch_size)
    expected = [greedy_by_hand(model, prompt, 8) for prompt in prompts]
    assert [(list(item.ids), item.finish) for item in found] == expected


def test_each_prompt_is_cut_at_its_own_limit():
    model = tiny_models.llama()
    prompts = tiny_models.prompts(5, 5, 5)
    found = generate(model, prompts, max_new_tokens=[1, 6, 3], batch_size=3)
    expected = [greedy_by_hand(model, p, n)[0] for p, n in zip(prompts, [1, 6, 3], strict=True)]
    assert [list(item.ids) for item in found] == expected


def test_an_end_token_stops_and_is_not_part_of_the_response():
    model = tiny_models.llama()
    (prompt,) = tiny_models.prompts(5)
    free = generate(model, [prompt], max_new_tokens=6, batch_size=1)[0]
    model.network.generation_config.eos_token_id = [0, free.ids[2]]
    stopped = generate(model, [prompt], max_new_tokens=6, batch_size=1)[0]
    first = free.ids.index(free.ids[2])
    assert (stopped.ids, stopped.finish) == (free.ids[:first], "stop")
    assert stopped.text.split() == [f"w{token}" for token in stopped.ids]


def test_immediate_end_gives_an_empty_text():
    model = tiny_models.llama()
    (prompt,) = tiny_models.prompts(5)
    first = generate(model, [prompt], max_new_tokens=1, batch_size=1)[0].ids[0]
    model.network.generation_config.eos_token_id = first
    found = generate(model, [prompt], max_new_tokens=4, batch_size=1)[0]
    assert (found.text, found.ids, found.finish) == ("", (), "stop")


def test_the_models_own_sampling_defaults_do_not_leak_in():
    model = tiny_models.llama()
    prompts = tiny_models.prompts(5, 8)
    plain = generate(model, prompts, max_new_tokens=8, batch_size=2)
    own = model.network.generation_config
    own.do_sample, own.temperature, own.repetition_penalty = True, 5.0, 9.0
    assert generate(model, prompts, max_new_tokens=8, batch_size=2) == plain
    assert model.network.generation_config is own


def test_a_prompt_that_does_not_fit_is_named_before_anything_runs():
    model = replace(tiny_models.llama(), load_network=lambda: None)
    prompts = tiny_models.prompts(5, tiny_models.WINDOW - 3)
    with pytest.raises(UserError, match=r"prompt 1: 61 tokens and 4 new ones.*window of 64"):
        generate(model, prompts, max_new_tokens=4, batch_size=2)


def test_an_empty_prompt_is_refused():
    with pytest.raises(UserError, match="prompt 0: no tokens"):
        generate(tiny_models.llama(), [[]], max_new_tokens=4, batch_size=2)


def test_no_prompts_give_no_responses():
    assert generate(tiny_models.llama(), [], max_new_tokens=4, batch_size=2) == []
