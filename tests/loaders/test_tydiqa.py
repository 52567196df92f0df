import json
import logging

import pytest

from ctxaudit.datasets import tydiqa
from ctxaudit.errors import UserError
from ctxaudit.interface import ContextDocument, Example

CONTEXT = "  Järvi on syvä. Sen syvyys on 40 metriä, ja 40 metriä on paljon."
START = CONTEXT.index("40 metriä")
ANSWER = {"text": "40 metriä", "answer_start": START}
QUESTION = {"id": "finnish--5655493461695504401-0", "question": "Kuinka syvä?", "answers": [ANSWER]}


def nested(*questions, context=CONTEXT):
    paragraph = {"qas": list(questions or [QUESTION]), "context": context}
    return {"version": "1.1", "data": [{"title": "Järvi", "paragraphs": [paragraph]}]}


def changed(**change):
    return {**QUESTION, **change}


def read(path):
    return list(tydiqa.load(path))


def test_a_question_with_its_passage(write):
    """The integer of an id may be negative, and contexts may start with blanks."""
    span = (START, START + len("40 metriä"))
    assert read(write(nested())) == [
        Example(
            id="finnish--5655493461695504401-0",
            query="Kuinka syvä?",
            sources=(),
            task="reasoning",
            gold="40 metriä",
            group="finnish--5655493461695504401-0",
            tags={"gold_all": '["40 metriä"]', "language": "finnish"},
            context=(
                ContextDocument(title="Järvi", text=CONTEXT, support=(span,), answers=(span,)),
            ),
        )
    ]


def test_rows_give_the_same_as_articles(write):
    row = {
        "id": QUESTION["id"],
        "title": "Järvi",
        "context": CONTEXT,
        "question": "Kuinka syvä?",
        "answers": {"text": ["40 metriä"], "answer_start": [START]},
    }
    rows = read(write(row, {**row, "id": "finnish-1-0"}, name="rows.jsonl"))
    assert rows == read(write(nested(QUESTION, changed(id="finnish-1-0"))))


def test_data_may_stand_before_other_keys(write):
    raw = {"data": nested()["data"], "version": {"of": ["the", "file"]}}
    assert read(write(raw)) == read(write(nested()))


def test_every_language_is_known(write):
    questions = [changed(id=f"{language}-1-0") for language in tydiqa.LANGUAGES]
    found = [example.tags["language"] for example in read(write(nested(*questions)))]
    assert found == list(tydiqa.LANGUAGES)
    assert len(found) == 9


@pytest.mark.parametrize("title", ["", None])
def test_an_article_without_a_title_is_no_fault(write, title):
    raw = nested()
    raw["data"][0]["title"] = title
    (example,) = read(write(raw))
    assert example.context[0].title == ""


def test_another_language_is_refused(write):
    with pytest.raises(UserError, match=r"qas\[0\]\.id: 'thai-1-0' begins with no language"):
        read(write(nested(changed(id="thai-1-0"))))


def test_an_offset_that_counts_bytes_is_refused(write):
    in_bytes = len(CONTEXT[:START].encode())
    assert in_bytes != START
    wrong = changed(answers=[{**ANSWER, "answer_start": in_bytes}])
    with pytest.raises(UserError, match=r"answers\[0\]\.answer_start: \d+ counts bytes"):
        read(write(nested(wrong)))


@pytest.mark.parametrize("start", [START + 1, -1, 10_000])
def test_an_answer_that_is_not_at_its_offset_has_no_span_and_is_counted(write, caplog, start):
    other = {"text": "syvä", "answer_start": CONTEXT.index("syvä")}
    lost = changed(answers=[{**ANSWER, "answer_start": start}, other])
    with caplog.at_level(logging.WARNING):
        (example,) = read(write(nested(lost)))
    assert json.loads(example.tags["gold_all"]) == ["40 metriä", "syvä"]
    ((first, end),) = example.context[0].answers
    assert CONTEXT[first:end] == "syvä"
    assert "1 examples with an answer that does not stand at its offset" in caplog.text


def test_an_offset_from_the_end_is_none(write):
    assert CONTEXT.endswith("paljon.")
    (example,) = read(write(nested(changed(answers=[{"text": "paljon.", "answer_start": -7}]))))
    assert example.context[0].answers == ()


def test_a_question_without_an_answer_is_left_out_and_counted(write, caplog):
    with caplog.at_level(logging.INFO):
        read(write(nested(QUESTION, changed(id="finnish-1-0", answers=[]))))
    assert "1 examples; left out: 1 with no answer" in caplog.text


@pytest.mark.parametrize(
    ("raw", "place"),
    [
        (nested(changed(question=" ")), r"data\[0\]\.paragraphs\[0\]\.qas\[0\]\.question"),
        (nested(changed(id=7)), r"data\[0\]\.paragraphs\[0\]\.qas\[0\]\.id"),
        (nested(changed(answers=None)), r"data\[0\]\.paragraphs\[0\]\.qas\[0\]\.answers"),
        (nested(changed(answers=[{"text": "a"}])), r"qas\[0\]\.answers\[0\]\.answer_start"),
        (nested(context=""), r"data\[0\]\.paragraphs\[0\]\.context"),
        ({"data": [{"title": "t"}]}, r"data\[0\]\.paragraphs"),
        ({"data": [3]}, r"data\[0\]"),
    ],
)
def test_a_fault_names_file_article_and_field(write, raw, place):
    with pytest.raises(UserError, match=rf"raw\.json: .*{place}: "):
        read(write(raw))


@pytest.mark.parametrize("split", ["dev", "train"])
def test_real_gold_passages(sample, split):
    examples = read(sample(f"tydiqa/tydiqa-goldp-v1.1-{split}.sample.json"))
    assert examples
    for example in examples:
        (document,) = example.context
        ((start, end),) = document.answers
        assert document.text[start:end] == example.gold
        assert example.id.startswith(example.tags["language"])


def test_the_real_primary_task_is_refused(sample):
    with pytest.raises(UserError, match=r"tiny_dev\.jsonl:1: document_plaintext: .*primary task"):
        read(sample("tydiqa/tiny_dev.jsonl"))
