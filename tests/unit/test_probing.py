import numpy as np
import pytest

from ctxaudit import columns
from ctxaudit.config.conflict import Probing
from ctxaudit.probing.probes import length_baseline, train

SETTINGS = Probing()


def pairs(num=40, num_layers=2, size=8, shift=0.0, seed=0):
    """Twins share most of their content; the conflicting one is moved along one coordinate."""
    rng = np.random.default_rng(seed)
    shared = 5 * rng.normal(size=(num, num_layers, size))
    conflict, consistent = (shared + rng.normal(size=shared.shape) for _ in range(2))
    conflict[..., 0] += shift
    return conflict.astype(np.float32), consistent.astype(np.float32)


def test_separable_states_give_auc_1():
    conflict, consistent = pairs(shift=100.0)
    table = train(conflict, consistent, range(40), SETTINGS, seed=0)
    assert tuple(table.columns) == columns.PROBES
    assert table["auc"].tolist() == [1.0, 1.0]
    assert table["auc_sd"].tolist() == [0.0, 0.0]
    assert table["layer"].tolist() == [0, 1]
    assert (table["num_pairs"] == 40).all()
    assert (table["num_folds"] == 5).all()
    assert table["converged"].all()


def test_constant_states_give_exactly_one_half():
    conflict, consistent = pairs()
    conflict[:, 0] = consistent[:, 0] = np.float32(0.1)
    assert train(conflict, consistent, range(40), SETTINGS, seed=0)["auc"][0] == 0.5


def test_no_signal_gives_about_one_half_although_pairs_share_content():
    aucs = [
        train(*pairs(num=60, num_layers=1, seed=s), range(60), SETTINGS, seed=0)["auc"][0]
        for s in range(8)
    ]
    # The standard deviation of one mean of five folds of 24 is near 0.06, of eight of them 0.02.
    assert abs(np.mean(aucs) - 0.5) < 0.08


def test_pairs_of_one_base_stay_in_one_fold(monkeypatch):
    seen = []

    def record(features, labels, train, test, settings):
        bases = [set((rows % 12) // 3) for rows in (train, test)]
        seen.append(bases[0] & bases[1])
        return 0.5, True

    monkeypatch.setattr("ctxaudit.probing.probes._fit", record)
    train(*pairs(num=12, num_layers=1), np.arange(12) // 3, Probing(num_folds=4), seed=0)
    assert seen == [set()] * 4


def test_more_folds_than_bases_is_undefined_with_a_reason():
    table = train(*pairs(num=8), ["a", "b"] * 4, SETTINGS, seed=0)
    assert table["auc"].isna().all()
    assert table["reason"].tolist() == ["2 base instances are fewer than 5 folds"] * 2


def test_a_fit_that_did_not_converge_is_recorded():
    table = train(*pairs(shift=1.0), range(40), Probing(max_iter=1), seed=0)
    assert not table["converged"].any()
    assert table["auc"].notna().all()


def test_the_seed_decides_alone():
    one, again, other = (
        train(*pairs(shift=1.0), range(40), SETTINGS, seed=seed) for seed in (1, 1, 2)
    )
    assert one.equals(again)
    assert not one["auc"].equals(other["auc"])


def test_scaling_a_coordinate_changes_nothing():
    conflict, consistent = pairs(shift=1.0)
    scale = np.logspace(-3, 3, 8).astype(np.float32)
    plain, scaled = (
        train(conflict * s, consistent * s, range(40), SETTINGS, seed=0)["auc"] for s in (1, scale)
    )
    # Rank statistics: float32 rounding of the scaled copies may swap a close pair.
    np.testing.assert_allclose(plain, scaled, atol=0.02)


def test_length_alone_separates_where_evidence_was_left_out():
    rng = np.random.default_rng(0)
    lengths = rng.integers(100, 110, size=40)
    table = length_baseline(lengths, lengths - 30, range(40), SETTINGS, seed=0)
    assert tuple(table.columns) == columns.PROBES
    assert (table["layer"][0], table["auc"][0]) == (-1, 1.0)
    same = length_baseline([50] * 40, [50] * 40, range(40), SETTINGS, seed=0)
    assert same["auc"][0] == 0.5


def test_states_that_do_not_match_are_refused():
    conflict, consistent = pairs()
    with pytest.raises(ValueError, match="must match"):
        train(conflict, consistent[1:], range(40), SETTINGS, seed=0)
