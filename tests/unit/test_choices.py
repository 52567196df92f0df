import pytest

from ctxaudit.ablation import choices
from ctxaudit.errors import UserError
from ctxaudit.interface import Example

QUESTION = Example(
    id="q",
    query="The sky is",
    sources=(),
    task="multiple_choice",
    choices=("red", "blue"),
    gold="blue",
)


def test_words_leave_question_and_answer_as_they_are():
    assert choices.shown(QUESTION, "option_text") == QUESTION
    assert choices.answer(QUESTION, "blue", "option_text") == "blue"


def test_letters_list_the_options_and_stand_for_them():
    assert choices.shown(QUESTION, "letter").query == "The sky is\nA. red\nB. blue"
    assert choices.answer(QUESTION, "blue", "letter") == "B"


def test_a_free_response_is_never_a_letter():
    assert choices.answer(QUESTION, "it depends", "letter") == "it depends"


def test_a_gold_answer_outside_the_options_is_named():
    faulty = Example(
        id="q", query="Q", sources=(), task="multiple_choice", choices=("a", "b"), gold="c"
    )
    with pytest.raises(UserError, match="'q': gold: 'c' is not one of its choices"):
        choices.check(faulty, "option_text")


def test_more_options_than_letters_are_refused_for_letters_only():
    many = tuple(str(number) for number in range(27))
    long = Example(id="q", query="Q", sources=(), task="multiple_choice", choices=many, gold="0")
    choices.check(long, "option_text")
    with pytest.raises(UserError, match="27 options, letters go to 26"):
        choices.check(long, "letter")
