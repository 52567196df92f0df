import numpy as np
import pytest

from ctxaudit.config.conflict import Probing
from ctxaudit.interface import Example, Source
from ctxaudit.probing import by_type, states
from ctxaudit.prompts import PromptTemplate
from tests.unit import tiny_models

TEMPLATES = {
    "reasoning": PromptTemplate(
        chat=False, with_sources="w1 {sources} w2 {query}", without_sources="w2 {query}"
    )
}
SETTINGS = Probing(num_folds=3)


def example(number: int, twin: str, pieces: int) -> Example:
    return Example(
        id=f"{number}-{twin}",
        query=f"w{number + 3}",
        sources=tuple(Source(id=f"{k}", text=f"w{10 * number + k + 20}") for k in range(pieces)),
        task="reasoning",
        group=f"g{number}",
        tags={
            "conflict_type": "temporal",
            "twin": twin,
            "part": "calibration" if number < 2 else "test",
        },
    )


@pytest.fixture(scope="module")
def model():
    return tiny_models.llama()


@pytest.fixture
def examples() -> list[Example]:
    pairs = [(example(n, "conflict", 2 + n % 2), example(n, "consistent", 1)) for n in range(6)]
    return [twin for pair in pairs for twin in pair]


def test_pairs_hold_one_state_per_twin_in_the_order_of_the_examples(model, examples):
    found = states.of_pairs(examples, model, TEMPLATES, batch_size=4)
    assert found["temporal.conflict"].shape == found["temporal.consistent"].shape == (6, 4, 32)
    # Two words, the query and a word per source.
    assert found["temporal.conflict.tokens"].tolist() == [5, 6, 5, 6, 5, 6]
    alone = states.of_pairs(examples[6:8], model, TEMPLATES, batch_size=1)
    # Batches differ by rounding only.
    np.testing.assert_allclose(
        alone["temporal.conflict"][0], found["temporal.conflict"][3], atol=1e-5
    )


def test_single_evidence_is_read_for_the_calibration_part_alone(model, examples):
    found = states.of_single_evidence(examples, model, TEMPLATES, batch_size=4)
    assert found["temporal.pieces"].tolist() == [2, 3]
    assert found["temporal"].shape == (5, 4, 32)


def test_probes_start_with_the_length_baseline_and_are_at_chance_on_equal_embeddings(
    model, examples
):
    pairs = states.of_pairs(examples, model, TEMPLATES, batch_size=4)
    # The last token is the query, which the twins share, so its embedding cannot tell them apart.
    table = by_type.probe(examples, pairs, SETTINGS, seed=0)
    assert table["layer"].tolist() == [-1, 0, 1, 2, 3]
    assert table["auc"][0] == 1.0
    assert table["auc"][1] == 0.5
    assert set(table["conflict_type"]) == {"temporal"}


def test_a_direction_rests_on_the_calibration_conflicts_alone(model, examples):
    pairs = states.of_pairs(examples, model, TEMPLATES, batch_size=4)
    single = states.of_single_evidence(examples, model, TEMPLATES, batch_size=4)
    found = by_type.directions(examples, pairs, single)["temporal"]
    centres = [single["temporal"][:2].mean(axis=0), single["temporal"][2:].mean(axis=0)]
    by_hand = np.mean(centres, axis=0) - pairs["temporal.conflict"][:2].mean(axis=0)
    unit = by_hand[1:] / np.linalg.norm(by_hand[1:], axis=-1, keepdims=True)
    np.testing.assert_allclose(found, unit, atol=1e-5)
