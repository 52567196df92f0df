import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ctxaudit.errors import UserError
from ctxaudit.generation import generate
from ctxaudit.memory import PassLimit, pass_limit, run_in_batches
from tests.unit import tiny_models

AMPLE = PassLimit(token_bytes=1, pair_bytes=0, free_bytes=1e12)


@given(
    lengths=st.lists(st.integers(1, 80), max_size=30),
    max_tokens=st.integers(1, 200),
    max_rows=st.none() | st.integers(1, 7),
)
def test_batches_keep_order_and_stay_below_their_limits(lengths, max_tokens, max_rows):
    order = list(range(len(lengths)))[::-1]
    done = list(
        run_in_batches(order, lengths, tuple, limit=AMPLE, max_tokens=max_tokens, max_rows=max_rows)
    )
    assert [index for batch, _ in done for index in batch] == order
    for batch, result in done:
        assert result == tuple(batch)
        assert len(batch) * max(lengths[i] for i in batch) <= max_tokens or len(batch) == 1
        assert max_rows is None or len(batch) <= max_rows


@given(st.integers(1, 10**4), st.integers(1, 100), st.integers(4 * 10**8, 10**12))
def test_a_pass_at_the_limit_takes_just_the_free_memory(token_bytes, pair_bytes, free):
    limit = PassLimit(token_bytes=token_bytes, pair_bytes=pair_bytes, free_bytes=free)
    count = limit.tokens(longest=50, at_most=10**15)

    def needed(c):
        return c * (token_bytes + pair_bytes * (c + 50))

    assert needed(count) <= free < needed(count + 2)


def test_a_batch_out_of_memory_is_tried_again_in_halves_and_never_grows_again(caplog):
    sizes = []

    def run(batch):
        sizes.append(len(batch))
        if len(batch) > 3:
            raise MemoryError
        return batch

    limit = PassLimit(token_bytes=1, pair_bytes=0, free_bytes=1e12)
    done = list(run_in_batches(range(14), [10] * 14, run, limit=limit, max_rows=8))
    assert [index for batch, _ in done for index in batch] == list(range(14))
    assert sizes == [8, 4, 2, 2, 2, 2, 2, 2, 2]
    assert limit.tokens(longest=10, at_most=1000) == 20
    assert "80 tokens" in caplog.text


def test_what_cannot_be_halved_is_said_to_the_user():
    def run(batch):
        raise MemoryError

    with pytest.raises(UserError, match="11 tokens does not fit the memory; use a smaller"):
        list(run_in_batches([0], [11], run, limit=pass_limit(tiny_models.llama().network)))


def test_other_errors_pass_through():
    def run(batch):
        raise KeyError("x")

    with pytest.raises(KeyError):
        list(run_in_batches([0], [1], run, limit=AMPLE))


def test_a_larger_model_fits_fewer_tokens(monkeypatch):
    monkeypatch.setattr("ctxaudit.memory._free_bytes", lambda device: 1e9)
    network = tiny_models.llama().network
    tokens = pass_limit(network).tokens(longest=100, at_most=10**9)
    network.config.vocab_size *= 1000
    assert pass_limit(network).tokens(longest=100, at_most=10**9) < tokens / 2


def test_the_memory_of_a_slurm_job_is_what_it_was_granted(monkeypatch):
    network = tiny_models.llama().network
    at_most = 10**12
    before = pass_limit(network).tokens(longest=10, at_most=at_most)
    monkeypatch.setenv("SLURM_MEM_PER_NODE", "1")
    assert pass_limit(network).tokens(longest=10, at_most=at_most) < before / 10


def test_generation_goes_on_in_smaller_batches(monkeypatch):
    model, prompts = tiny_models.llama(), tiny_models.prompts(5, 6, 7, 8)
    expected = generate(model, prompts, max_new_tokens=4, batch_size=4)
    forward, rows = model.network.forward, []

    def fail(*args, input_ids, **kwargs):
        rows.append(len(input_ids))
        if len(input_ids) > 1:
            raise torch.OutOfMemoryError
        return forward(*args, input_ids=input_ids, **kwargs)

    monkeypatch.setattr(model.network, "forward", fail)
    assert generate(model, prompts, max_new_tokens=4, batch_size=4) == expected
    assert rows[:3] == [4, 2, 1]
    assert set(rows[2:]) == {1}


def test_eager_attention_keeps_the_weights_of_every_head(monkeypatch):
    monkeypatch.setattr("ctxaudit.memory._free_bytes", lambda device: 1e9)
    network = tiny_models.llama().network
    before = pass_limit(network).tokens(longest=10_000, at_most=10**9)
    network.set_attn_implementation("eager")
    after = pass_limit(network).tokens(longest=10_000, at_most=10**9)
    # 4 heads in float32, twice, beside a mask of 6 bytes; activations count too.
    assert after < before / 2


def test_slurm_may_grant_memory_per_cpu(monkeypatch):
    network = tiny_models.llama().network
    before = pass_limit(network).tokens(longest=10, at_most=10**12)
    monkeypatch.setenv("SLURM_MEM_PER_CPU", "1")
    assert pass_limit(network).tokens(longest=10, at_most=10**12) == before
    monkeypatch.setenv("SLURM_CPUS_ON_NODE", "2")
    assert pass_limit(network).tokens(longest=10, at_most=10**12) < before / 10


@pytest.mark.parametrize(
    "words",
    ["CUDA error: out of memory", "cuBLAS failed: CUBLAS_STATUS_ALLOC_FAILED", "std::bad_alloc"],
)
def test_libraries_have_words_of_their_own_for_it(words):
    limit = PassLimit(token_bytes=1, pair_bytes=0, free_bytes=1e9)
    limit.lower(RuntimeError(words), num_tokens=600, divisible=True)
    assert limit.tokens(longest=1, at_most=10**6) == 300
