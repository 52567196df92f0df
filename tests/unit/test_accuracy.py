import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxaudit import columns
from ctxaudit.accuracy import evaluate, normalise, tagged_answer
from ctxaudit.errors import UserError
from ctxaudit.interface import Example, Response

PIECES = [
    "<answer>",
    "</answer>",
    "<ANSWER\t>",
    "</\nanswer>",
    "<answer",
    "answer>",
    "</answer",
    "yes",
    "no",
    "\n",
]
PAIR = re.compile(r"<\s*answer\s*>((?:(?!<\s*/?\s*answer\s*>).)*)<\s*/\s*answer\s*>", re.S | re.I)


def example(name="e1", gold="True", task="reasoning", conflict_type="inferential"):
    return Example(
        id=name, query="?", sources=(), task=task, gold=gold, tags={"conflict_type": conflict_type}
    )


def judge(text, gold="True", finish="stop", others=("False", "Uncertain")):
    examples = [example(gold=gold), *(example(f"o{label}", label) for label in others)]
    response = Response(example_id="e1", text=text, finish=finish)
    return evaluate(examples, [response]).iloc[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("so <answer>True</answer>", "True"),
        ("<answer>a</answer> no, <answer>b</answer>", "b"),
        ("<Answer>\n b \n</ANSWER>", "\n b \n"),
        ("<answer>a</answer> and <answer>b", "a"),
        ("<answer>a <answer>b</answer>", "b"),
        ("<answer>a</answer></answer>", "a"),
        ("</answer>a<answer>", None),
        ("answer: a", None),
        ("<answer></answer>", ""),
    ],
)
def test_the_last_complete_pair_counts(text, expected):
    assert tagged_answer(text) == expected


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_malformed_tags_are_read_like_one_regular_expression_does(text):
    expected = PAIR.findall(text)
    assert tagged_answer(text) == (expected[-1] if expected else None)
    assert tagged_answer(text + "<answer>yes</answer>") == "yes"


@settings(max_examples=40)
@given(st.text(max_size=60))
def test_any_text_has_an_outcome(text):
    row = judge(text)
    assert row["outcome"] in {"correct", "wrong", "unanswered"}
    assert row["strict"] == (row["outcome"] == "correct")
    assert row["lenient"] >= row["strict"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The  Eiffel-Tower!", "eiffel tower"),
        ("U.S.", "us"),
        ("“Yes”", "yes"),
        ("A", "a."),
        ("ＴＲＵＥ", "true"),
        ("1,000", "1,000."),
    ],
)
def test_spellings_that_are_the_same_answer(one, other):
    assert normalise(one) == normalise(other)


@pytest.mark.parametrize(
    ("one", "other"), [("3.5", "35"), ("12:30", "1230"), ("not true", "true"), ("a", "b")]
)
def test_answers_that_differ(one, other):
    assert normalise(one) != normalise(other)


@pytest.mark.parametrize(
    ("text", "outcome", "lenient", "step"),
    [
        ("<answer>true.</answer>", "correct", 1, "answer tag"),
        ("<answer>It is true</answer>", "wrong", 1, "within the tag"),
        ("<answer>True or False</answer>", "wrong", 0, ""),
        ("<answer>untrue</answer>", "wrong", 0, ""),
        ("<answer>False</answer>\ntrue", "wrong", 0, ""),
        ("False it seems.\nThe answer is True.", "unanswered", 1, "last line"),
        ("True.\nBut that is all.", "unanswered", 0, ""),
        ("<answer>True", "unanswered", 1, "last line"),
    ],
)
def test_strict_and_lenient_reading(text, outcome, lenient, step):
    row = judge(text)
    assert (row["outcome"], row["lenient"], row["lenient_step"]) == (outcome, lenient, step)


@pytest.mark.parametrize(
    ("text", "finish", "reason"),
    [
        ("", "stop", "empty response"),
        ("<answer> </answer>", "stop", "empty answer tag"),
        ("step 1", "length", "cut before an answer"),
        ("step 1", "stop", "no complete answer tag"),
        ("<answer>False</answer>", "stop", ""),
    ],
)
def test_why_there_is_no_answer(text, finish, reason):
    assert judge(text, finish=finish)["reason"] == reason


def test_a_label_inside_the_gold_is_no_rival():
    assert judge("<answer>in New York</answer>", gold="New York", others=["York"])["lenient"] == 1
    assert judge("<answer>in New York</answer>", gold="York", others=["New York"])["lenient"] == 0


def test_summaries_are_left_out_and_order_is_kept():
    examples = [example("a"), example("s", None, "summarization"), example("b")]
    responses = [Response(example_id=name, text="", finish="stop") for name in "bsa"]
    table = evaluate(examples, responses)
    assert tuple(table.columns) == columns.ACCURACY
    assert table["example_id"].tolist() == ["b", "a"]


def test_no_responses_give_an_empty_table():
    assert tuple(evaluate([example()], []).columns) == columns.ACCURACY


def test_a_response_to_nothing_and_a_missing_gold_are_named():
    with pytest.raises(UserError, match="response to 'x'"):
        evaluate([example()], [Response(example_id="x", text="", finish="stop")])
    with pytest.raises(UserError, match="example 'e1': gold"):
        evaluate([example(gold=None)], [])
