"""What a model knows without its context: the gate between fine-tuning and attribution."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ctxaudit import columns
from ctxaudit.errors import UserError
from ctxaudit.interface import Answers


def tabulate(answers: Sequence[Answers], *, variant: str) -> pd.DataFrame:
    """Whether each question is answered with no context and with the full one.

    Args:
        answers: Options' scores under at least the empty and the full mask.
        variant: base or tuned.
    """
    rows = [
        (variant, context, item.example_id, item.correct(mask))
        for item in answers
        for context, mask in _contexts(item)
    ]
    table = pd.DataFrame(rows, columns=list(columns.RECALL[:-1]))
    reason = np.where(table["correct"].isna(), "the options were not scored under this context", "")
    return table.assign(reason=reason)


def accuracy(recall: pd.DataFrame, variant: str, context: str) -> float:
    """Share of questions answered rightly by one variant under one context."""
    rows = recall[(recall["variant"] == variant) & (recall["context"] == context)]
    return float(rows["correct"].mean())


def learned(recall: pd.DataFrame) -> set[str]:
    """Questions that the tuned model answers without context and the base does not (eq. 9)."""
    closed = recall[recall["context"] == "none"].pivot(
        index="example_id", columns="variant", values="correct"
    )
    closed = closed.reindex(columns=["base", "tuned"])
    return set(closed.index[(closed["tuned"] == 1) & (closed["base"] == 0)])


def describe(recall: pd.DataFrame) -> str:
    """One line: the four accuracies and the number of questions learned."""
    shares = ", ".join(
        f"{variant} {'without' if context == 'none' else 'with'} context "
        f"{accuracy(recall, variant, context):.2f}"
        for context in ("none", "full")
        for variant in ("base", "tuned")
    )
    return f"accuracy: {shares}; {len(learned(recall))} questions known to the tuned model alone"


def check_gain(recall: pd.DataFrame, *, min_gain: float) -> None:
    """Stop where fine-tuning did not raise no-context accuracy by `min_gain`.

    Raises:
        UserError: with both accuracies and what to change.
    """
    base, tuned = (accuracy(recall, variant, "none") for variant in ("base", "tuned"))
    if tuned - base < min_gain:
        raise UserError(
            f"the fine-tuning taught too little: no-context accuracy is {base:.2f} before and "
            f"{tuned:.2f} after, overlap.finetuning.min_gain asks for a rise of {min_gain}. "
            "Raise overlap.finetuning.learning_rate or num_epochs, or check that the retain "
            "corpus states what the questions ask."
        )


def _contexts(item: Answers) -> list[tuple[str, Any]]:
    num_sources = item.masks.shape[1]
    return [("none", np.zeros(num_sources, bool)), ("full", np.ones(num_sources, bool))]
