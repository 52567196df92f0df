import logging
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import (
    Gemma2Config,
    Gemma3Config,
    Gemma3TextConfig,
    GPTNeoConfig,
    GPTNeoXConfig,
    GptOssConfig,
    LlamaConfig,
    MistralConfig,
    Qwen2Config,
    Qwen3Config,
)
from transformers.models.auto import AutoModelForCausalLM

from ctxaudit.ablation import tree_attention
from ctxaudit.ablation.plain import score_plain, token_logprobs
from ctxaudit.ablation.scorer import ScoreRequest, score
from ctxaudit.ablation.shared import score_shared, supports
from ctxaudit.ablation.store import ScoreStore
from ctxaudit.ablation.trie import build
from ctxaudit.errors import UserError
from ctxaudit.models import LanguageModel

# Nats per token: what float32 sums in another order may differ by, with room.
TOLERANCE = 2e-4
WINDOW = 64
SIZES = {
    "vocab_size": 50,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": WINDOW,
    "eos_token_id": 0,
    "bos_token_id": None,
    "pad_token_id": None,
}
SLIDING = {"sliding_window": 5, "layer_types": ["sliding_attention", "full_attention"]}
CONFIGS = {
    "llama": lambda: LlamaConfig(**SIZES),
    "qwen3": lambda: Qwen3Config(**SIZES),
    "gemma2": lambda: Gemma2Config(**SIZES, **SLIDING, final_logit_softcapping=3.0),
    "gemma3": lambda: Gemma3TextConfig(**SIZES, **SLIDING),
    "gpt_oss": lambda: GptOssConfig(
        **SIZES,
        **SLIDING,
        num_local_experts=2,
        num_experts_per_tok=1,
        rope_parameters={"rope_type": "default", "rope_theta": 1e4},
    ),
    "mistral": lambda: MistralConfig(**SIZES, sliding_window=5),
    # A model of text and images keeps the sizes of its text model one level down.
    "gemma3 with images": lambda: Gemma3Config(
        text_config=Gemma3TextConfig(**SIZES, **SLIDING),
        vision_config={
            "hidden_size": 8,
            "intermediate_size": 8,
            "num_hidden_layers": 1,
            "num_attention_heads": 1,
            "image_size": 28,
            "patch_size": 14,
        },
        mm_tokens_per_image=4,
    ),
    "qwen2": lambda: Qwen2Config(**SIZES),
    "gpt_neox": lambda: GPTNeoXConfig(
        **{name: value for name, value in SIZES.items() if name != "num_key_value_heads"}
    ),
    # Its local layers are known to no mask of ours.
    "gpt_neo": lambda: GPTNeoConfig(
        vocab_size=50,
        hidden_size=32,
        num_layers=2,
        num_heads=4,
        attention_types=[[["global", "local"], 1]],
        window_size=5,
        max_position_embeddings=WINDOW,
        bos_token_id=0,
        eos_token_id=0,
    ),
}
PLAIN = {"mistral", "gpt_neo"}
SHARING = sorted(CONFIGS.keys() - PLAIN)


@cache
def tiny(kind, dtype=torch.float32):
    torch.manual_seed(0)
    network = AutoModelForCausalLM.from_config(CONFIGS[kind]()).eval()
    with torch.no_grad():
        for weight in network.parameters():
            # The initial scale of 0.02 would leave every distribution nearly uniform.
            weight.copy_(torch.randn_like(weight) * 0.2 if weight.dim() > 1 else weight)
    return LanguageModel(lambda: network.to(dtype), None, digest=kind, max_tokens=WINDOW)


def reference(model, prompt, response):
    """One sequence, full logits, float64 log-softmax."""
    with torch.no_grad():
        logits = model.network(torch.tensor([[*prompt, *response]])).logits[0]
    logprobs = logits.double().log_softmax(dim=-1)
    return [logprobs[len(prompt) - 1 + t, token].item() for t, token in enumerate(response)]


def subsets_with_options(num_sources=3, length=6, seed=0):
    """Prompts of all subsets, each with options that begin alike or begin one another."""
    draw = np.random.default_rng(seed)
    sources = draw.integers(1, 50, (num_sources, length))
    options = [(1, 2), (1, 2, 3), (4,), (1, 5, 6, 7)]
    return [
        ((3, *sources[np.array(kept, dtype=bool)].ravel().tolist(), 8, 9), option)
        for kept in np.ndindex(*[2] * num_sources)
        for option in options
    ]


def assert_matches_reference(model, pairs, scored):
    assert sorted(scored) == list(range(len(pairs)))
    for index, (prompt, response) in enumerate(pairs):
        assert scored[index].dtype == np.float32
        np.testing.assert_allclose(
            scored[index], reference(model, prompt, response), rtol=0, atol=TOLERANCE
        )


@pytest.mark.parametrize("batch_tokens", [7, 50, 4096])
@pytest.mark.parametrize("kind", SHARING)
def test_shared_prefixes_give_what_single_passes_give(kind, batch_tokens):
    model, pairs = tiny(kind), subsets_with_options()
    assert supports(model)
    scored = dict(score_shared(model, pairs, batch_tokens=batch_tokens))
    assert_matches_reference(model, pairs, scored)


@pytest.mark.parametrize("batch_tokens", [23, 4096])
@pytest.mark.parametrize("kind", ["gemma3", "gpt_neox", "llama", "qwen2", "qwen3"])
def test_attention_in_small_blocks_gives_what_single_passes_give(kind, batch_tokens, monkeypatch):
    monkeypatch.setattr("ctxaudit.ablation.tree_attention._BLOCK", 5)
    model, pairs = tiny(kind), subsets_with_options(num_sources=4)
    assert tree_attention.applies(model.network)
    scored = dict(score_shared(model, pairs, batch_tokens=batch_tokens))
    assert_matches_reference(model, pairs, scored)
    assert model.network.config._attn_implementation == "sdpa"


@pytest.mark.parametrize("batch_tokens", [1, 50])
@pytest.mark.parametrize("kind", sorted(CONFIGS))
def test_plain_batches_give_what_single_passes_give(kind, batch_tokens):
    model, pairs = tiny(kind), subsets_with_options()
    scored = dict(score_plain(model, pairs, batch_tokens=batch_tokens))
    assert_matches_reference(model, pairs, scored)


tokens = st.integers(1, 4)
requests = st.tuples(
    st.lists(tokens, min_size=1, max_size=8).map(tuple),
    st.lists(tokens, min_size=1, max_size=5).map(tuple),
)


@settings(max_examples=15, deadline=None)
@given(pairs=st.lists(requests, min_size=1, max_size=25), batch_tokens=st.integers(1, 40))
def test_any_requests_with_duplicates_and_nested_prefixes(pairs, batch_tokens):
    model = tiny("qwen3")
    asked = [ScoreRequest(prompt, response, "e") for prompt, response in pairs]
    scored = dict(enumerate(score(model, asked, batch_tokens=batch_tokens)))
    assert_matches_reference(model, pairs, scored)


@settings(max_examples=50)
@given(st.lists(st.lists(tokens, min_size=1, max_size=7).map(tuple), min_size=1, max_size=12))
def test_trie_holds_each_prefix_once_and_its_paths_spell_the_sequences(sequences):
    tree = build(sequences)
    prefixes = {sequence[:end] for sequence in sequences for end in range(1, len(sequence) + 1)}
    assert len(tree.tokens) == len(prefixes)
    for sequence, path in zip(sequences, tree.paths, strict=True):
        assert tuple(tree.tokens[path]) == sequence
        assert tree.depths[path].tolist() == list(range(len(sequence)))
        columns = np.arange(len(tree.tokens))
        ancestors = (columns <= path[-1]) & (path[-1] < tree.ends)
        assert np.flatnonzero(ancestors).tolist() == path.tolist()


@pytest.fixture
def counted(monkeypatch):
    """Number of new tokens in each forward pass of the llama."""
    network, passes = tiny("llama").network, []
    forward = network.forward

    def count(*args, input_ids, **kwargs):
        passes.append(input_ids.numel())
        return forward(*args, input_ids=input_ids, **kwargs)

    monkeypatch.setattr(network, "forward", count)
    return passes


def test_every_distinct_prefix_is_run_once(counted):
    pairs = subsets_with_options(num_sources=4, length=10)
    score(tiny("llama"), [ScoreRequest(p, r, "e") for p, r in pairs], batch_tokens=30)
    prefixes = {(p + r)[:end] for p, r in pairs for end in range(1, len(p + r))}
    assert sum(counted) == len(prefixes)
    assert max(counted) <= 30
    assert sum(counted) < sum(len(p) + len(r) for p, r in pairs) / 6


def test_equal_requests_are_computed_once_and_known_ones_not_at_all(counted, tmp_path):
    request = ScoreRequest((1, 2, 3), (4, 5), "e")
    with ScoreStore(tmp_path, "s" * 64) as store:
        first = score(tiny("llama"), [request, request], batch_tokens=64, store=store)
    assert counted == [4]
    with ScoreStore(tmp_path, "s" * 64) as store:
        again = score(tiny("llama"), [request], batch_tokens=64, store=store)
    assert counted == [4]
    np.testing.assert_array_equal(first[0], first[1])
    np.testing.assert_array_equal(first[0], again[0])


def test_a_full_store_needs_no_weights(tmp_path):
    def refuse():
        raise AssertionError("the weights were loaded")

    asked = [ScoreRequest((1, 2), (3, 4), "e")]
    with ScoreStore(tmp_path, "s" * 64) as store:
        expected = score(tiny("llama"), asked, batch_tokens=16, store=store)
        weightless = LanguageModel(refuse, None, digest="llama", max_tokens=WINDOW)
        found = score(weightless, asked, batch_tokens=16, store=store)
    np.testing.assert_array_equal(found, expected)


def test_what_was_scored_before_a_failure_is_in_the_store(monkeypatch, tmp_path):
    model, pairs = tiny("llama"), subsets_with_options()
    asked = [ScoreRequest(p, r, "e") for p, r in pairs]
    forward, calls = model.network.forward, []

    def fail_third(*args, **kwargs):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return forward(*args, **kwargs)

    monkeypatch.setattr(model.network, "forward", fail_third)
    with pytest.raises(KeyboardInterrupt), ScoreStore(tmp_path, "s" * 64) as store:
        score(model, asked, batch_tokens=30, store=store)
    with ScoreStore(tmp_path, "s" * 64) as store:
        known = [found is not None for found in store.get([store.key(*pair) for pair in pairs])]
        assert 0 < sum(known) < len(pairs)
        left = [pair for pair, found in zip(pairs, known, strict=True) if not found]
        calls.clear()
        monkeypatch.setattr(model.network, "forward", forward)
        monkeypatch.setattr("ctxaudit.ablation.scorer.score_shared", recording(calls))
        scored = dict(enumerate(score(model, asked, batch_tokens=30, store=store)))
    assert calls == [left]
    assert_matches_reference(model, pairs, scored)


def recording(asked):
    def scorer(model, pairs, *, batch_tokens):
        asked.append(list(pairs))
        return score_shared(model, pairs, batch_tokens=batch_tokens)

    return scorer


def short_of_memory(monkeypatch, network, *, room):
    """Make passes of more than `room` tokens fail half-way, as torch on a CPU does."""
    last, passes = network.model.layers[-1], []
    forward = last.forward

    def fail(hidden_states, *args, **kwargs):
        passes.append(hidden_states.shape[0] * hidden_states.shape[1])
        if passes[-1] > room:
            raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory")
        return forward(hidden_states, *args, **kwargs)

    monkeypatch.setattr(last, "forward", fail)
    return passes


def fresh(kind):
    """A model whose limit of tokens no other test has lowered."""
    return LanguageModel(lambda: tiny(kind).network, None, digest=kind, max_tokens=WINDOW)


@pytest.mark.parametrize("kind", ["gemma3", "mistral"])
def test_a_pass_out_of_memory_is_halved_and_the_size_that_fits_is_kept(kind, monkeypatch, caplog):
    model, pairs = fresh(kind), subsets_with_options()
    passes = short_of_memory(monkeypatch, model.network, room=25)
    asked = [ScoreRequest(p, r, "e") for p, r in pairs]
    scored = dict(enumerate(score(model, asked, batch_tokens=80)))
    assert_matches_reference(model, pairs, scored)
    assert "out of memory" in caplog.text
    first_fitting = next(at for at, size in enumerate(passes) if size <= 25)
    assert all(size > 25 for size in passes[:first_fitting])
    assert first_fitting in {1, 2, 3}
    assert max(passes[first_fitting:]) <= 25


def test_one_token_that_does_not_fit_is_the_users_fault(monkeypatch):
    model = fresh("llama")
    short_of_memory(monkeypatch, model.network, room=0)
    with pytest.raises(UserError, match="does not fit the memory"):
        score(model, [ScoreRequest((1, 2), (3,), "e")], batch_tokens=16)


def test_another_error_than_memory_is_not_swallowed(monkeypatch):
    model = fresh("llama")
    monkeypatch.setattr(model.network, "forward", lambda **_: torch.ones(2) @ torch.ones(3))
    with pytest.raises(RuntimeError, match="size"):
        score(model, [ScoreRequest((1, 2), (3,), "e")], batch_tokens=16)


@pytest.mark.parametrize("kind", sorted(PLAIN))
def test_a_model_whose_cache_cannot_be_shared_is_scored_plainly_and_says_so(kind, caplog):
    model, pairs = tiny(kind), subsets_with_options()
    assert not supports(model)
    asked = [ScoreRequest(p, r, "e") for p, r in pairs]
    with caplog.at_level(logging.INFO, logger="ctxaudit"):
        scored = dict(enumerate(score(model, asked, batch_tokens=100)))
    assert_matches_reference(model, pairs, scored)
    assert f"no prefix sharing for {kind}" in caplog.text


@pytest.mark.parametrize("rope_type", ["dynamic", "longrope"])
def test_positions_that_depend_on_the_length_of_a_pass_are_not_shared(rope_type):
    config = LlamaConfig(**SIZES, rope_parameters={"rope_type": "default", "rope_theta": 1e4})
    config.rope_parameters["rope_type"] = rope_type
    network = SimpleNamespace(config=config)
    assert not supports(LanguageModel(lambda: network, None, digest="d", max_tokens=WINDOW))


def test_the_cache_holds_the_ancestors_of_the_next_token_alone(monkeypatch):
    model, pairs = tiny("llama"), subsets_with_options(num_sources=5, length=6)
    longest = max(len(prompt) + len(response) for prompt, response in pairs)
    held, forward = [], model.network.forward

    def look(*args, cache, **kwargs):
        held.append(cache.get_seq_length())
        return forward(*args, cache=cache, **kwargs)

    monkeypatch.setattr(model.network, "forward", look)
    score(model, [ScoreRequest(p, r, "e") for p, r in pairs], batch_tokens=16)
    assert len(held) > 10
    assert 0 < max(held) < longest


@pytest.mark.parametrize("kind", ["llama", "mistral"])
def test_logits_are_computed_where_a_response_token_is_predicted_and_nowhere_else(
    kind, monkeypatch
):
    model = tiny(kind)
    # Responses of one length with prompts of another: no batch has a row to waste.
    pairs = [((1, 2, 3, 4, number), (5, 6, number)) for number in (7, 8, 9)]
    head, rows = model.network.get_output_embeddings(), []
    hook = head.register_forward_hook(lambda _, __, out: rows.append(out.numel() // out.shape[-1]))
    score(model, [ScoreRequest(p, r, "e") for p, r in pairs], batch_tokens=64)
    hook.remove()
    assert sum(rows) == 9


def test_half_precision_weights_still_get_a_float32_log_softmax():
    # Logits that bfloat16 holds exactly; their log-softmax it does not.
    logits = torch.randn(7, 50, generator=torch.Generator().manual_seed(0)).bfloat16()
    rows, tokens = np.arange(7), np.arange(7) * 5
    expected = logits.double().log_softmax(dim=-1)[rows, tokens].numpy()
    found = token_logprobs(logits, rows, tokens)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_half_precision_is_near_full_precision():
    model, pairs = tiny("llama", torch.bfloat16), subsets_with_options()
    scored = score(model, [ScoreRequest(p, r, "e") for p, r in pairs], batch_tokens=64)
    # bfloat16 has 8 bits of mantissa, so logits of size 10 are off by some hundredths.
    for values, (prompt, response) in zip(scored, pairs, strict=True):
        np.testing.assert_allclose(values, reference(model, prompt, response), rtol=0, atol=0.3)


@pytest.mark.parametrize(
    ("prompt", "response", "message"),
    [
        ((1,), (), "example 'q7': the response has no token"),
        ((), (1,), "example 'q7': the prompt has no token"),
        ((1,) * 60, (2,) * 5, r"example 'q7': .* 65 tokens \(60 \+ 5\).* holds 64"),
    ],
)
def test_bad_requests_stop_everything_before_the_first_pass(counted, prompt, response, message):
    good = ScoreRequest((1, 2), (3,), "example 'q1'")
    with pytest.raises(UserError, match=message):
        score(
            tiny("llama"), [good, ScoreRequest(prompt, response, "example 'q7'")], batch_tokens=64
        )
    assert counted == []


def test_a_request_that_fills_the_window_is_scored():
    (values,) = score(tiny("llama"), [ScoreRequest((1,) * 62, (2, 3), "e")], batch_tokens=16)
    np.testing.assert_allclose(
        values, reference(tiny("llama"), (1,) * 62, (2, 3)), rtol=0, atol=TOLERANCE
    )


def test_no_request_is_no_score():
    assert score(tiny("llama"), [], batch_tokens=16) == []
