import contextlib

import numpy as np
import pytest
import torch

from ctxaudit.errors import UserError
from ctxaudit.generation import generate
from ctxaudit.layers import blocks, hidden_of
from ctxaudit.steering.directions import direction
from ctxaudit.steering.injection import Steering, steer
from tests.unit import tiny_models

BUILDERS = [tiny_models.llama, tiny_models.gpt_neox, tiny_models.gpt_oss]
SCHEDULES = ["first_generated", "all_tokens"]
PROMPTS = tiny_models.prompts(1, 9, 4, 17, 2, 6)
LIMIT = 6


def unit_rows(seed=0, num_layers=3, size=32):
    rows = np.random.default_rng(seed).normal(size=(num_layers, size))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def strong(schedule, alpha=3.0, layers=None):
    return Steering(direction=unit_rows(), alpha=alpha, schedule=schedule, layers=layers)


def logits(model, prompt):
    with torch.no_grad():
        return model.network(torch.tensor([prompt]), use_cache=False).logits[0, -1]


@contextlib.contextmanager
def added_before_next_module(model, steering, first, last):
    """The same addition by another route: at the input of whatever follows each block."""
    stack = blocks(model.network)
    final = (
        model.network.gpt_neox.final_layer_norm
        if hasattr(model.network, "gpt_neox")
        else model.network.model.norm
    )
    handles = []
    for module, row in zip([*stack[1:], final], steering.direction, strict=True):
        vector = torch.tensor(steering.alpha * row, dtype=torch.float32)

        def move(_, args, kwargs, vector=vector):
            hidden = (args[0] if args else kwargs["hidden_states"]).clone()
            hidden[:, first:last] += vector
            return (hidden, *args[1:]), {k: v for k, v in kwargs.items() if k != "hidden_states"}

        handles.append(module.register_forward_pre_hook(move, with_kwargs=True))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def recomputed(model, prompt, steering):
    """Greedy steered decoding that recomputes everything at each step: tokens and logits."""
    ids, rows = list(prompt), []
    for _ in range(LIMIT):
        last = len(prompt) if steering.schedule == "first_generated" else len(ids)
        with added_before_next_module(model, steering, len(prompt) - 1, last):
            rows.append(logits(model, ids))
        ids.append(int(rows[-1].argmax()))
        if ids[-1] == 0:
            return ids[len(prompt) : -1], torch.stack(rows)
    return ids[len(prompt) :], torch.stack(rows)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize("batch_size", [1, 4])
def test_generation_with_cache_equals_full_recomputation(build, schedule, batch_size):
    model, steering = build(), strong(schedule)
    with steer(model, steering) as passes:
        found = generate(model, PROMPTS, max_new_tokens=LIMIT, batch_size=batch_size)
    expected = [recomputed(model, prompt, steering)[0] for prompt in PROMPTS]
    assert [list(item.ids) for item in found] == expected
    assert passes.num_prompts == -(-len(PROMPTS) // batch_size)
    plain = generate(model, PROMPTS, max_new_tokens=LIMIT, batch_size=batch_size)
    assert plain != found


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize("rows", [1, 4])
def test_logits_with_cache_equal_full_recomputation(build, schedule, rows):
    model, steering = build(), strong(schedule)
    prompts = PROMPTS[:rows]
    width = max(map(len, prompts))
    padded = torch.tensor([[0] * (width - len(p)) + p for p in prompts])
    mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts])
    with steer(model, steering):
        output = model.network.generate(
            padded,
            attention_mask=mask,
            max_new_tokens=LIMIT,
            do_sample=False,
            eos_token_id=None,
            output_logits=True,
            return_dict_in_generate=True,
            pad_token_id=0,
        )
    found = torch.stack(output.logits, dim=1)
    for row, prompt in enumerate(prompts):
        _, expected = recomputed(model, prompt, steering)
        torch.testing.assert_close(found[row, : len(expected)], expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("build", BUILDERS)
def test_nothing_added_leaves_the_logits(build, schedule):
    model = build()
    plain = logits(model, PROMPTS[1])
    zero = Steering(direction=np.zeros((3, 32)), alpha=1.0, schedule=schedule)
    opposite = Steering(direction=-unit_rows(), alpha=3.0, schedule=schedule)
    for chosen in ([strong(schedule, alpha=0.0)], [zero], [strong(schedule), opposite]):
        with contextlib.ExitStack() as stack:
            for steering in chosen:
                stack.enter_context(steer(model, steering))
            torch.testing.assert_close(logits(model, PROMPTS[1]), plain, rtol=0, atol=1e-5)
    with steer(model, strong(schedule)):
        assert (logits(model, PROMPTS[1]) - plain).abs().max() > 0.01


@pytest.mark.parametrize("build", BUILDERS)
def test_positions_before_the_last_are_untouched(build):
    model = build()
    seen = {}
    for name, context in (
        ("plain", contextlib.nullcontext()),
        ("steered", steer(model, strong("all_tokens", layers=(1,)))),
    ):
        with context:
            handles = [
                block.register_forward_hook(
                    lambda _, __, output, name=name: seen.setdefault(name, []).append(
                        hidden_of(output)
                    )
                )
                for block in blocks(model.network)
            ]
            logits(model, PROMPTS[1])
            for handle in handles:
                handle.remove()
    for plain, steered in zip(seen["plain"], seen["steered"], strict=True):
        assert torch.equal(plain[:, :-1], steered[:, :-1])
    moved = (seen["steered"][0] - seen["plain"][0])[0, -1].numpy()
    np.testing.assert_allclose(moved, 3.0 * unit_rows()[0], atol=1e-5)


@pytest.mark.parametrize(("schedule", "expected"), [("first_generated", 2), ("all_tokens", 8)])
def test_injections_are_counted_per_steered_block(schedule, expected):
    model = tiny_models.llama()
    with steer(model, strong(schedule, layers=(1, 3))) as passes:
        generate(model, PROMPTS[:4], max_new_tokens=4, batch_size=2)
    assert (passes.num_prompts, passes.num_steps) == (2, 6)
    assert passes.num_injections == {1: expected, 3: expected}


def test_only_the_chosen_layers_are_steered():
    model = tiny_models.llama()
    only = np.zeros((3, 32))
    only[1] = unit_rows()[1]
    with steer(model, Steering(direction=only, alpha=3.0, schedule="all_tokens")):
        expected = logits(model, PROMPTS[1])
    with steer(model, strong("all_tokens", layers=(2,))):
        assert torch.equal(logits(model, PROMPTS[1]), expected)


def test_no_hook_stays_after_an_exception():
    model = tiny_models.llama()
    plain = logits(model, PROMPTS[1])
    with pytest.raises(KeyboardInterrupt), steer(model, strong("all_tokens")):
        raise KeyboardInterrupt
    modules = list(model.network.modules())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in modules)
    assert torch.equal(logits(model, PROMPTS[1]), plain)


def test_a_block_that_runs_twice_is_noticed():
    model = tiny_models.llama()
    first, second, _ = blocks(model.network)

    def repeat(_, args, kwargs):
        first(*args, **kwargs)

    second.register_forward_pre_hook(repeat, with_kwargs=True)

    def run():
        with steer(model, strong("all_tokens")):
            logits(model, PROMPTS[1])

    with pytest.raises(RuntimeError, match="expected 1 injections per block"):
        run()


def test_right_padding_is_refused():
    model = tiny_models.llama()
    ids = torch.ones((1, 3), dtype=torch.long)
    with pytest.raises(ValueError, match="left"), steer(model, strong("all_tokens")):
        model.network(ids, attention_mask=torch.tensor([[1, 1, 0]]))


def test_a_cache_under_a_name_we_do_not_know_is_noticed():
    model = tiny_models.llama()
    with pytest.raises(RuntimeError, match="does not see"), steer(model, strong("all_tokens")):
        model.network(torch.ones((1, 1), dtype=torch.long), attention_mask=torch.ones(1, 3))


def test_a_direction_of_another_model_is_refused():
    steering = Steering(direction=np.zeros((2, 32)), alpha=1.0, schedule="all_tokens")
    with (
        pytest.raises(UserError, match=r"\(2, 32\).*\(3, 32\)"),
        steer(tiny_models.llama(), steering),
    ):
        pass


def test_a_layer_that_does_not_exist_is_refused():
    with (
        pytest.raises(UserError, match=r"no block \[0, 4\]; allowed are 1 to 3"),
        steer(tiny_models.llama(), strong("all_tokens", layers=(0, 2, 4))),
    ):
        pass


def test_bfloat16_is_kept():
    model = tiny_models.llama()
    model.network.bfloat16()
    with steer(model, strong("all_tokens")):
        assert logits(model, PROMPTS[1]).dtype == torch.bfloat16


def test_direction_by_hand():
    combined = np.array([[[9.0, 9.0], [0.0, 0.0]], [[9.0, 9.0], [2.0, 2.0]]])
    single = [
        np.array([[[9.0, 9.0], [4.0, 0.0]], [[9.0, 9.0], [2.0, 2.0]]]),
        np.array([[[9.0, 9.0], [5.0, 9.0]]]),
    ]
    # Centres (3, 1) and (5, 9) give (4, 5); minus (1, 1) leaves (3, 4).
    np.testing.assert_allclose(direction(combined, single), [[0.6, 0.8]], rtol=1e-12)


def test_direction_weighs_samples_and_not_pieces():
    rng = np.random.default_rng(0)
    combined = rng.normal(size=(2, 3, 4))
    single = [rng.normal(size=(k, 3, 4)) for k in (2, 5)]
    repeated = [np.tile(single[0], (3, 1, 1)), single[1]]
    np.testing.assert_allclose(direction(combined, single), direction(combined, repeated))


def test_a_direction_without_length_is_zero_and_counted(caplog):
    states = np.ones((2, 3, 4))
    states[:, 2] += np.array([1.0, 0.0, 0.0, 0.0])
    single = [np.ones((2, 3, 4)), np.ones((3, 3, 4))]
    u = direction(states, single)
    np.testing.assert_array_equal(u, [[0, 0, 0, 0], [-1, 0, 0, 0]])
    assert "direction of 1 blocks has no length: [1]" in caplog.text
