import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ctxaudit import columns
from ctxaudit.balance import balance, measure
from ctxaudit.interface import Response

# Shares and ranks are a handful of float64 operations.
TOLERANCE = 1e-9

shapley_values = (
    st.integers(2, 7)
    .flatmap(
        lambda n: arrays(
            float, n, elements=st.floats(-5, 5).filter(lambda x: x == 0 or abs(x) > 1e-3)
        )
    )
    .filter(lambda phi: phi.max() > 0)
)


def gini_by_pairs(shares: np.ndarray) -> float:
    """The definition: mean absolute difference over twice the mean, scaled to a maximum of 1."""
    n = len(shares)
    differences = np.abs(shares[:, None] - shares[None, :]).sum()
    return float(differences / (2 * n * shares.sum()) * n / (n - 1))


@given(shapley_values)
def test_equals_the_gini_coefficient_by_pairs(phi: np.ndarray):
    found = balance(phi)
    assert found.value == pytest.approx(gini_by_pairs(np.maximum(phi, 0)), abs=TOLERANCE)
    assert found.shares.sum() == pytest.approx(1)


@given(shapley_values, st.randoms(use_true_random=False), st.floats(0.1, 10))
def test_invariant_under_permutation_and_scaling(phi: np.ndarray, random, factor: float):
    shuffled = phi.copy()
    random.shuffle(shuffled)
    assert balance(factor * shuffled).value == pytest.approx(balance(phi).value, abs=TOLERANCE)


@pytest.mark.parametrize("n", [2, 3, 7])
def test_equal_shares_give_0_and_a_single_contributor_1(n: int):
    assert balance(np.full(n, 0.3)).value == pytest.approx(0, abs=TOLERANCE)
    assert balance(np.array([0.3] + [-0.1] * (n - 1))).value == pytest.approx(1, abs=TOLERANCE)


def test_three_shares_by_hand():
    found = balance(np.array([3.0, 1.0, -2.0]))
    np.testing.assert_allclose(found.shares, [0.75, 0.25, 0])
    assert found.value == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("phi", "reason"),
    [
        ([0.5], "single source"),
        ([-0.5, 0.0], "no source contributes"),
        ([1e-10, 0.0], "rounding"),
        ([1e-8, -1.0], "rounding"),
        ([np.nan, np.nan], "no finite value"),
    ],
)
def test_undefined_with_a_reason(phi: list[float], reason: str):
    found = balance(np.array(phi))
    assert np.isnan(found.value)
    assert np.isnan(found.shares).all()
    assert reason in found.reason


def response(finish="stop"):
    return Response(example_id="random-0", text="a b c", finish=finish)


def test_measures_length_normalised_values_without_the_end_token(random_ablations):
    ablations = random_ablations(3, num_tokens=4)
    row = measure([ablations], [response()], {"random-0": "perspective"}).iloc[0]
    means = ablations.logprobs[:, :4].mean(axis=1)
    assert tuple(row.index) == columns.BALANCE
    assert row.gain == pytest.approx(means[-1] - means[0])
    assert sum(row.shapley) == pytest.approx(row.gain)
    assert row.balance == pytest.approx(balance(np.array(row.shapley)).value)
    assert (row.conflict_type, row.num_sources, row.reason) == ("perspective", 3, "")
    assert row.finish == "stop"


def test_a_refusal_has_no_balance_and_a_cut_response_has_one(random_ablations):
    ablations = random_ablations(3)
    whole, cut, refused = (
        measure([ablations], [response(finish)], {"random-0": "perspective"}).iloc[0]
        for finish in ("stop", "length", "refusal")
    )
    assert cut.balance == whole.balance
    assert (cut.finish, cut.reason) == ("length", "")
    assert (refused.finish, refused.reason) == ("refusal", "refused")
    assert np.isnan([refused.balance, refused.gain, *refused.shares]).all()


def test_a_response_of_no_tokens_and_a_partial_table_have_a_reason(random_ablations):
    whole = random_ablations(3)
    silent = dataclasses.replace(whole, logprobs=whole.logprobs[:, -1:])
    partial = dataclasses.replace(whole, masks=whole.masks[:-2], logprobs=whole.logprobs[:-2])
    table = measure([silent, partial], [response()], {"random-0": "ambiguity"})
    assert table["balance"].isna().all()
    assert "no token" in table["reason"][0]
    assert "some subset" in table["reason"][1]
