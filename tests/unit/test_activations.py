import copy

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from ctxaudit.activations import grouped_last_token_states, last_token_states
from ctxaudit.errors import UserError
from ctxaudit.layers import blocks
from tests.unit import tiny_models

BUILDERS = [tiny_models.llama, tiny_models.gpt_neox, tiny_models.gpt_oss]
PROMPTS = tiny_models.prompts(1, 9, 4, 17, 2, 6)


def num_hooks(network):
    return sum(
        len(module._forward_hooks) + len(module._forward_pre_hooks) for module in network.modules()
    )


@pytest.mark.parametrize("build", BUILDERS)
def test_equal_the_hidden_states_of_transformers_below_the_last_layer(build):
    model = build()
    states = last_token_states(model, PROMPTS, batch_size=4)
    for prompt, found in zip(PROMPTS, states, strict=True):
        with torch.no_grad():
            output = model.network(torch.tensor([prompt]), output_hidden_states=True)
        expected = torch.stack(output.hidden_states)[:-1, 0, -1].numpy()
        # Padding changes the order of float32 sums, no more.
        np.testing.assert_allclose(found[:-1], expected, rtol=0, atol=1e-5 * abs(expected).max())


@pytest.mark.parametrize(
    ("build", "norm"),
    [
        (tiny_models.llama, lambda network: network.model.norm),
        (tiny_models.gpt_neox, lambda network: network.gpt_neox.final_layer_norm),
    ],
)
def test_the_last_layer_is_before_the_final_norm(build, norm):
    model = build()
    states = last_token_states(model, PROMPTS, batch_size=2)
    with torch.no_grad():
        logits = model.network.get_output_embeddings()(
            norm(model.network)(torch.from_numpy(states[:, -1]))
        )
        expected = torch.stack([model.network(torch.tensor([p])).logits[0, -1] for p in PROMPTS])
    torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("build", BUILDERS)
def test_batch_size_changes_nothing(build):
    model = build()
    one, four = (last_token_states(model, PROMPTS, batch_size=size) for size in (1, 4))
    gap = np.linalg.norm(one - four, axis=-1)
    assert (gap <= 1e-5 * np.linalg.norm(one, axis=-1)).all()


def test_layer_0_depends_on_the_last_token_only():
    prompts = [[*prompt, 7] for prompt in PROMPTS]
    states = last_token_states(tiny_models.llama(), prompts, batch_size=4)
    assert (states[:, 0] == states[0, 0]).all()
    assert not (states[:, 1] == states[0, 1]).all()


def test_groups_come_back_as_they_were():
    model = tiny_models.llama()
    groups = [PROMPTS[:2], PROMPTS[2:3], PROMPTS[3:]]
    found = grouped_last_token_states(model, groups, batch_size=4)
    assert [len(states) for states in found] == [2, 1, 3]
    np.testing.assert_array_equal(
        np.concatenate(found), last_token_states(model, PROMPTS, batch_size=4)
    )


def test_tuple_outputs_are_read_too():
    model = tiny_models.llama()
    expected = last_token_states(model, PROMPTS, batch_size=2)
    changed = copy.deepcopy(model)
    last = changed.network.model.layers[-1]
    last.register_forward_hook(lambda *call: (call[-1],))
    changed.network.model.norm.register_forward_pre_hook(lambda _, args: (args[0][0],))
    np.testing.assert_array_equal(last_token_states(changed, PROMPTS, batch_size=2), expected)


def test_no_hook_stays_after_an_exception():
    model = tiny_models.llama()

    def fail(*_):
        raise KeyboardInterrupt

    handle = model.network.model.layers[1].register_forward_pre_hook(fail)
    with pytest.raises(KeyboardInterrupt):
        last_token_states(model, PROMPTS, batch_size=2)
    handle.remove()
    assert num_hooks(model.network) == 0


def test_a_prompt_longer_than_the_window_is_named():
    prompts = [PROMPTS[0], *tiny_models.prompts(tiny_models.WINDOW + 1)]
    with pytest.raises(UserError, match="prompt 1: 65 tokens"):
        last_token_states(tiny_models.llama(), prompts, batch_size=2)


@pytest.mark.parametrize(
    "family", ["llama", "qwen2", "qwen3", "gemma3_text", "gpt_oss", "gpt_neox", "gpt2"]
)
def test_blocks_of_every_known_family_are_found(family):
    with torch.device("meta"):
        config = AutoConfig.for_model(family, num_hidden_layers=2)
        network = AutoModelForCausalLM.from_config(config)
    assert len(blocks(network)) == config.num_hidden_layers


def test_an_unknown_family_lists_the_known_ones():
    with torch.device("meta"):
        network = AutoModelForCausalLM.from_config(AutoConfig.for_model("opt", num_hidden_layers=1))
    with pytest.raises(UserError, match=r"model type 'opt'.*gemma3.*llama"):
        blocks(network)


def test_the_blocks_of_a_model_with_a_merged_adapter_are_found():
    from peft import LoraConfig, get_peft_model

    model = tiny_models.llama()
    adapter = LoraConfig(r=2, target_modules=["q_proj"])
    merged = get_peft_model(model.network, adapter).merge_and_unload()
    assert len(blocks(merged)) == 3


@pytest.mark.parametrize("build", BUILDERS)
def test_a_shared_beginning_is_computed_once_and_changes_nothing(build):
    model, start = build(), tiny_models.prompts(9, seed=1)[0]
    prompts = [[*start, *end] for end in tiny_models.prompts(1, 4, 7, seed=2)]
    states = last_token_states(model, prompts, batch_size=3)
    for prompt, found in zip(prompts, states, strict=True):
        with torch.no_grad():
            output = model.network(torch.tensor([prompt]), output_hidden_states=True)
        expected = torch.stack(output.hidden_states)[:-1, 0, -1].numpy()
        # The cache changes the order of float32 sums, no more.
        np.testing.assert_allclose(found[:-1], expected, rtol=0, atol=1e-5 * abs(expected).max())
