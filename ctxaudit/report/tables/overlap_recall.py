"""What the target models know without their context, and what they read out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxaudit.reasons import count_reasons
from ctxaudit.report import estimates, outcomes
from ctxaudit.report.frames import Frames

if TYPE_CHECKING:
    import pandas as pd

STUDY = "overlap"
READS = ("recall", "examples", "candidates")

COLUMNS = (
    "dataset",
    "model",
    "base_without",
    "base_with",
    "tuned_without",
    "tuned_with",
    "gap",
    "learned",
    *outcomes.OF_CONTEXTS,
    "n",
    "undefined",
    "reasons",
)


def build(frames: Frames) -> pd.DataFrame:
    """One row per dataset and model: accuracy per variant, without and with the context.

    `gap` is what fine-tuning added without context, `learned` the number of questions that only
    the tuned model answers without it, `undefined` that of questions with a value missing, which
    are not among the learned.
    """
    import pandas as pd

    from ctxaudit import recall

    rows = []
    for (dataset, model), found in frames["recall"].groupby(["dataset", "model"]):
        accuracy = {
            f"{variant}_{name}": estimates.mean(
                found.loc[(found["variant"] == variant) & (found["context"] == context), "correct"]
            )
            for variant in ("base", "tuned")
            for name, context in (("without", "none"), ("with", "full"))
        }
        missing = found[found["correct"].isna()]
        undefined = missing["example_id"].unique()
        row = {
            "dataset": dataset,
            "model": model,
            **accuracy,
            "gap": accuracy["tuned_without"] - accuracy["base_without"],
            "learned": len(recall.learned(found[~found["example_id"].isin(undefined)])),
            "n": found["example_id"].nunique(),
            "undefined": len(undefined),
            # A question may lack its value in several of the four cells, for one reason.
            "reasons": count_reasons(missing.drop_duplicates(["example_id", "reason"])["reason"]),
        }
        rows.append(outcomes.with_reasons(row, outcomes.of_contexts(frames, dataset)))
    return pd.DataFrame(rows, columns=list(COLUMNS))
