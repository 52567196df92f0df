"""Columns of the tables that a stage writes and the report reads (metrics: in the interface)."""

RECALL = ("variant", "context", "example_id", "correct", "reason")
"""One row per question and context: `context` is none or full, `correct` is 0, 1 or NaN."""

ACCURACY = (
    "example_id",
    "conflict_type",
    "outcome",
    "strict",
    "lenient",
    "lenient_step",
    "finish",
    "num_characters",
    "reason",
)
"""One row per response to a reasoning example.

`outcome` is correct, wrong or unanswered, by the strict reading; `strict` and `lenient` are 0 or 1
and never undefined, an unanswered one counts as 0; `lenient_step` names what the lenient reading
rests on; `reason` says why there is no answer.
"""

BALANCE = (
    "example_id",
    "conflict_type",
    "num_sources",
    "shapley",
    "shares",
    "balance",
    "gain",
    "finish",
    "reason",
)
"""One row per response: `shapley` and `shares` are lists of S numbers, `gain` is v(N) - v(∅) in
nats per token, `finish` is how the response ended, `reason` says why `balance` is NaN.
"""

PROBES = ("layer", "auc", "auc_sd", "num_pairs", "num_folds", "converged", "reason")
"""One row per layer, or one with layer -1 for the length baseline.

`auc` is the mean of the folds' AUCs and `auc_sd` their standard deviation, NaN where `reason` is
not empty; `converged` is false where any fold's fit reached `max_iter`.
"""
