"""Linear probes: can conflicting evidence be told from consistent by a layer's hidden state?

Grouped folds: with the two members of a pair in different folds, what they share predicts the
wrong label for the one held out.
"""

import math
import warnings
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ctxaudit import columns
from ctxaudit.config.conflict import Probing

LENGTH_LAYER = -1

_Array = npt.NDArray[Any]


def train(
    states_conflict: _Array,
    states_consistent: _Array,
    groups: Sequence[Hashable],
    settings: Probing,
    *,
    seed: int,
) -> pd.DataFrame:
    """A probe per layer (arXiv 2609.03148, 2026, section 4.1), with the columns `PROBES`.

    Args:
        states_conflict: (N, L+1, D) last-token states of the conflicting prompts.
        states_consistent: (N, L+1, D) those of their consistent twins, in the same order.
        groups: N base instances; all pairs of one stay in one fold.
        settings: Regularisation, iterations and folds.
        seed: Of the assignment to folds.
    """
    if states_conflict.shape != states_consistent.shape or len(groups) != len(states_conflict):
        raise ValueError("states of conflicts, their twins and groups must match")
    rows = [
        {
            "layer": layer,
            **_probe(
                states_conflict[:, layer], states_consistent[:, layer], groups, settings, seed
            ),
        }
        for layer in range(states_conflict.shape[1])
    ]
    return pd.DataFrame(rows, columns=list(columns.PROBES))


def length_baseline(
    lengths_conflict: Sequence[int],
    lengths_consistent: Sequence[int],
    groups: Sequence[Hashable],
    settings: Probing,
    *,
    seed: int,
) -> pd.DataFrame:
    """The same with the prompt's length as the only feature; one row of `PROBES`, layer -1.

    Twins are made by leaving evidence out, so a probe may win by counting: its AUC means little
    where this one is as high.
    """
    conflict, consistent = (
        np.asarray(lengths, dtype=np.float64)[:, None]
        for lengths in (lengths_conflict, lengths_consistent)
    )
    row = {"layer": LENGTH_LAYER, **_probe(conflict, consistent, groups, settings, seed)}
    return pd.DataFrame([row], columns=list(columns.PROBES))


def _probe(
    conflict: _Array, consistent: _Array, groups: Sequence[Hashable], settings: Probing, seed: int
) -> dict[str, Any]:
    codes, bases = pd.factorize(pd.Series(list(groups), dtype=object))
    row = {"num_pairs": len(codes), "num_folds": 0, "converged": False, "reason": ""}
    if len(bases) < settings.num_folds:
        reason = f"{len(bases)} base instances are fewer than {settings.num_folds} folds"
        return {**row, "auc": math.nan, "auc_sd": math.nan, "reason": reason}
    features = np.concatenate([conflict, consistent]).astype(np.float64)
    labels = np.repeat([1, 0], len(codes))
    folds = GroupKFold(settings.num_folds, shuffle=True, random_state=seed)
    found = [
        _fit(features, labels, train, test, settings)
        for train, test in folds.split(features, labels, np.tile(codes, 2))
    ]
    aucs, converged = zip(*found, strict=True)
    return {
        **row,
        "auc": np.mean(aucs),
        "auc_sd": np.std(aucs, ddof=1),
        "num_folds": len(found),
        "converged": all(converged),
    }


def _fit(
    features: _Array, labels: _Array, train: _Array, test: _Array, settings: Probing
) -> tuple[float, bool]:
    """AUC on the held-out fold, and whether the fit converged."""
    model = make_pipeline(
        StandardScaler(), LogisticRegression(C=settings.C, max_iter=settings.max_iter)
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(features[train], labels[train])
    converged = not any(issubclass(item.category, ConvergenceWarning) for item in caught)
    return float(roc_auc_score(labels[test], model.decision_function(features[test]))), converged
