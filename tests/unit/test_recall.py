import numpy as np
import pandas as pd
import pytest

from ctxaudit import recall
from ctxaudit.errors import UserError
from ctxaudit.interface import Answers


def answers(name: str, closed: int, full: int, gold: int = 1) -> Answers:
    """Best options: `closed` with no context, `full` with the full one."""
    scores = np.full((2, 3), -5.0)
    scores[0, closed] = scores[1, full] = -1.0
    masks = np.array([[False, False], [True, True]])
    return Answers(example_id=name, masks=masks, scores=scores, gold_index=gold)


@pytest.fixture
def table() -> pd.DataFrame:
    base = recall.tabulate([answers("a", 0, 1), answers("b", 1, 1)], variant="base")
    tuned = recall.tabulate([answers("a", 1, 1), answers("b", 1, 0)], variant="tuned")
    return pd.concat([base, tuned])


def test_accuracies_and_the_questions_learned(table: pd.DataFrame):
    assert recall.accuracy(table, "base", "none") == 0.5
    assert recall.accuracy(table, "base", "full") == 1.0
    assert recall.accuracy(table, "tuned", "none") == 1.0
    assert recall.accuracy(table, "tuned", "full") == 0.5
    assert recall.learned(table) == {"a"}
    assert "base without context 0.50" in recall.describe(table)


def test_a_sufficient_gain_passes_and_a_small_one_names_the_keys(table: pd.DataFrame):
    recall.check_gain(table, min_gain=0.5)
    with pytest.raises(UserError, match=r"0\.50 before and 1\.00 after.*learning_rate"):
        recall.check_gain(table, min_gain=0.6)
