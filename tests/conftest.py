"""Builders of random records, shared by the tests."""

from collections.abc import Callable

import hypothesis
import numpy as np
import pytest

from ctxaudit.ablation.masks import all_masks
from ctxaudit.interface import Ablations, Answers, Attribution, Example, OverlapResults, Source

# A busy machine must not fail a test, and a failure must come back on the next run.
hypothesis.settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("repeatable")


@pytest.fixture
def random_ablations() -> Callable[..., Ablations]:
    """Ablations over all subsets with random log-probabilities, an end token last."""

    def build(num_sources: int, *, num_tokens: int = 3, seed: int = 0) -> Ablations:
        rng = np.random.default_rng(seed)
        masks = all_masks(num_sources)
        logprobs = -rng.exponential(2.0, (len(masks), num_tokens + 1))
        return Ablations(
            example_id=f"random-{seed}", masks=masks, logprobs=logprobs, has_end_token=True
        )

    return build


@pytest.fixture
def game() -> Callable[..., Ablations]:
    """Ablations over all subsets with given values, spread evenly over the response's tokens."""

    def build(
        value: Callable[[np.ndarray], float],
        num_sources: int,
        *,
        num_tokens: int = 1,
        example_id: str = "game",
    ) -> Ablations:
        masks = all_masks(num_sources)
        per_token = np.array([value(mask) / num_tokens for mask in masks])
        return Ablations(
            example_id=example_id,
            masks=masks,
            logprobs=np.repeat(per_token[:, None], num_tokens, axis=1),
            has_end_token=False,
        )

    return build


@pytest.fixture
def overlap_results() -> Callable[..., OverlapResults]:
    """Results of random scores on questions with as many in-weight as in-context sources.

    Option scores are random except that the base model never knows without context and the tuned
    one always does; both are right with the full context.
    """

    def build(
        num_examples: int = 5,
        num_sources: int = 4,
        *,
        methods: tuple[str, ...] = ("first", "second"),
        seed: int = 0,
    ) -> OverlapResults:
        rng = np.random.default_rng(seed)
        names = [f"q{number}" for number in range(num_examples)]
        return OverlapResults(
            examples=[_question(name, num_sources) for name in names],
            ablations={
                variant: [_ablations(name, num_sources, rng) for name in names]
                for variant in ("base", "tuned")
            },
            answers={
                variant: [_answers(name, num_sources, variant == "tuned", rng) for name in names]
                for variant in ("base", "tuned")
            },
            attributions={
                (variant, method): [_attribution(name, num_sources, rng) for name in names]
                for variant in ("base", "tuned")
                for method in methods
            },
        )

    return build


def _question(name: str, num_sources: int) -> Example:
    sources = tuple(
        Source(id=f"{name}-{i}", text=f"fact {i}", provenance="iw" if i % 2 else "icl")
        for i in range(num_sources)
    )
    return Example(
        id=name,
        query="which?",
        sources=sources,
        task="multiple_choice",
        choices=("a", "b", "c", "d"),
        gold="a",
    )


def _ablations(name: str, num_sources: int, rng: np.random.Generator) -> Ablations:
    masks = all_masks(num_sources)
    logprobs = -rng.exponential(2.0, (len(masks), 3))
    return Ablations(example_id=name, masks=masks, logprobs=logprobs, has_end_token=True)


def _answers(name: str, num_sources: int, knows: bool, rng: np.random.Generator) -> Answers:
    masks = all_masks(num_sources)
    scores = rng.normal(size=(len(masks), 4))
    scores[0] = [1, 0, 0, 0] if knows else [0, 1, 0, 0]
    scores[-1] = [1, 0, 0, 0]
    return Answers(example_id=name, masks=masks, scores=scores, gold_index=0)


def _attribution(name: str, num_sources: int, rng: np.random.Generator) -> Attribution:
    scores = rng.normal(size=num_sources)
    labels = tuple("icl" if score > 0 else "iw" for score in scores)
    return Attribution(example_id=name, scores=scores, labels=labels)
