import math

import numpy as np
import pytest

from ctxaudit.llm.rating import expectation, read_rating
from ctxaudit.llm.requests import Completion


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("7", 7),
        (" 10\n", 10),
        ("7/10", 7),
        ("Score: 0.", 0),
        ("**8**", 8),
        ('{"score": 6.5}', 6.5),
        ('```json\n{"score": 3}\n```', 3),
    ],
)
def test_a_number_alone_or_in_json_is_read(text: str, score: float):
    assert read_rating(Completion(text=text, finish="stop"), 0, 10).score == score


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Completion(text="", finish="stop"), "unparsable"),
        (Completion(text="between 3 and 5", finish="stop"), "unparsable"),
        (Completion(text='{"grade": 3}', finish="stop"), "invalid"),
        (Completion(text='{"score": true}', finish="stop"), "invalid"),
        (Completion(text='{"score": NaN}', finish="stop"), "invalid"),
        (Completion(text="11", finish="stop"), "out of range"),
        (Completion(text='{"score": 11}', finish="stop"), "out of range"),
        (Completion(text='{"score": 1' + "0" * 400 + "}", finish="stop"), "out of range"),
        (Completion(text="[" * 5000 + "]" * 5000, finish="stop"), "unparsable"),
        (Completion(text="-3", finish="stop"), "out of range"),
        (Completion(text="7", finish="length"), "length"),
        (Completion(text="I cannot", finish="refusal"), "refusal"),
        (Completion(text="7", finish="error"), "error"),
    ],
)
def test_all_else_is_undefined_with_its_reason(reply: Completion, reason: str):
    rating = read_rating(reply, 0, 10)
    assert math.isnan(rating.score)
    assert rating.reason == reason


def test_the_expectation_is_that_of_the_normalised_probabilities():
    logprobs = tuple(np.log([0.1, 0.2, 0.1]) - 900)
    # Closed form: (0 * 1 + 1 * 2 + 2 * 1) / 4; float64 rounding of logarithms near 900.
    assert expectation(logprobs, 0) == pytest.approx(1.0, abs=1e-9)
    assert expectation(logprobs, 5) == pytest.approx(6.0, abs=1e-9)
