import itertools
import logging
import tracemalloc

import pytest

from ctxaudit.datasets import sampling
from ctxaudit.interface import Example


def question(name, query="?"):
    return Example(id=str(name), query=query, sources=(), task="reasoning", gold="yes")


def names(examples, num_examples, seed=0):
    return [e.id for e in sampling.sample(examples, num_examples=num_examples, seed=seed)]


QUESTIONS = [question(number) for number in range(200)]


def test_a_larger_sample_only_adds():
    sizes = (1, 2, 10, 100, 199, 200)
    samples = [names(QUESTIONS, size) for size in sizes]
    assert [len(set(sample)) for sample in samples] == list(sizes)
    assert all(set(a) < set(b) for a, b in itertools.pairwise(samples))


def test_the_sample_is_the_same_in_any_order_and_stands_in_that_order():
    assert names(QUESTIONS[::-1], 20) == names(QUESTIONS, 20)[::-1]
    assert names(QUESTIONS, 20) == sorted(names(QUESTIONS, 20), key=int)


def test_the_sample_of_a_release_stays_the_sample():
    """Pinned: a changed hash would exchange the questions of every study."""
    assert names(QUESTIONS, 4, seed=0) == ["49", "131", "143", "148"]


def test_seeds_give_samples_that_are_as_if_independent():
    shared = len({*names(QUESTIONS, 100, seed=1)} & {*names(QUESTIONS, 100, seed=2)})
    # Hypergeometric: mean 50, standard deviation 3.5.
    assert 36 < shared < 64


def test_without_a_size_all_are_streamed():
    endless = map(question, itertools.count())
    first = next(sampling.sample(endless, num_examples=None, seed=0))
    assert first.id == "0"


def test_too_few_are_all_taken_and_told(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING):
        assert len(names(QUESTIONS, 201)) == 200
    assert "201 examples wanted, there are 200" in caplog.text


def test_memory_holds_the_sample_only():
    tracemalloc.start()
    try:
        questions = (question(number, "x" * 2000) for number in range(20_000))
        assert len(names(questions, 100)) == 100
        # 40 MB pass by; the sample is 0.2 MB.
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
