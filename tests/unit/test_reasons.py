from ctxaudit.reasons import count_reasons


def test_reasons_are_counted_the_most_frequent_first():
    reasons = ["cut", "", "empty", "cut", None, float("nan")]
    assert count_reasons(reasons) == "cut: 2; empty: 1"
