import numpy as np
import pytest

from ctxaudit.ablation.masks import all_masks
from ctxaudit.attribution.apply import no_context_probabilities
from ctxaudit.attribution.separation import no_context_probability, separate
from ctxaudit.interface import Answers, Response


def labels(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def test_contrast_weighs_the_relative_score_against_the_no_context_probability():
    scores = np.array([4.0, 2.0, 1.0, -3.0])
    # Relative scores 1, 1/2, 1/4, 0 against p times what is missing to 1.
    assert separate("contrast", scores, 1.0) == labels("icl icl iw iw")
    assert separate("contrast", scores, 0.3) == labels("icl icl icl iw")
    assert separate("contrast", scores, 0.0) == labels("icl icl icl iw")


def test_share_asks_for_a_uniform_share_of_the_positive_mass():
    assert separate("share", np.array([5.0, 2.5, 2.4, -1.0]), 0.0) == labels("icl icl iw iw")


@pytest.mark.parametrize("num_sources", range(1, 12))
def test_equal_scores_all_reach_a_uniform_share(num_sources: int):
    assert separate("share", np.full(num_sources, 0.1), 0.0) == ("icl",) * num_sources


@pytest.mark.parametrize("rule", ["contrast", "share"])
def test_without_a_positive_score_all_are_in_weight(rule):
    assert separate(rule, np.array([0.0, -1.0, 0.0]), 0.0) == labels("iw iw iw")


def test_no_labels_where_an_input_is_undefined():
    assert separate("share", np.array([1.0, np.nan]), 0.5) == ()
    assert separate("contrast", np.array([1.0, 2.0]), float("nan")) == ()
    assert separate("share", np.array([1.0, 2.0]), float("nan")) == labels("iw icl")


def test_probability_of_an_option_is_normalised_over_the_options():
    scores = np.log(np.array([[0.1, 0.3], [0.9, 0.9]])) - 400
    answers = Answers(example_id="q", masks=all_masks(1), scores=scores, gold_index=0)
    assert no_context_probability(answers, 1) == pytest.approx(0.75)
    assert np.isnan(no_context_probability(answers, None))


def test_probability_of_free_text_is_the_geometric_mean_per_token(random_ablations):
    ablations = random_ablations(3, num_tokens=4)
    expected = np.exp(ablations.logprobs[0, :4].mean())
    assert no_context_probability(ablations) == pytest.approx(expected)


def test_probabilities_are_those_of_the_responses_not_of_the_gold_answers(overlap_results):
    results = overlap_results(num_examples=2)
    texts = ["b", "not an option"]
    responses = [
        Response(example_id=example.id, text=text, finish="choice")
        for example, text in zip(results.examples, texts, strict=True)
    ]
    found = no_context_probabilities(results.examples, responses, results.answers["base"])
    # The builder scores option b 1 and the three others 0 without context.
    assert found[0] == pytest.approx(np.e / (np.e + 3))
    assert np.isnan(found[1])
