import json
import logging
from pathlib import Path

import pytest

from ctxaudit.datasets import hotpotqa
from ctxaudit.errors import UserError
from ctxaudit.interface import ContextDocument, Example

OFFICIAL = {
    "_id": "5a8b57f25542995d1e6f1371",
    "question": "Were both ferries built in Odense?",
    "answer": "yes",
    "supporting_facts": [["Vega", 0], ["Alma", 2]],
    "context": [
        ["Alma", ["Alma is a ferry.", "", " She was built in Odense."]],
        ["Vega", ["Vega was built in Odense.", " She is blue."]],
        ["Odense", ["Odense is a city."]],
    ],
    "type": "comparison",
    "level": "hard",
}
HUB = {
    **{key: OFFICIAL[key] for key in ("question", "answer", "type", "level")},
    "id": OFFICIAL["_id"],
    "supporting_facts": {"title": ["Vega", "Alma"], "sent_id": [0, 2]},
    "context": {
        "title": ["Alma", "Vega", "Odense"],
        "sentences": [sentences for _, sentences in OFFICIAL["context"]],
    },
}


def changed(**change):
    return {**OFFICIAL, **change}


def read(path):
    return list(hotpotqa.load(path))


def test_a_question_with_its_paragraphs(write):
    """Sentences bring their blanks, and an empty one keeps its number."""
    assert read(write([OFFICIAL])) == [
        Example(
            id="5a8b57f25542995d1e6f1371",
            query="Were both ferries built in Odense?",
            sources=(),
            task="reasoning",
            gold="yes",
            group="5a8b57f25542995d1e6f1371",
            tags={"type": "comparison", "level": "hard"},
            context=(
                ContextDocument(
                    title="Alma",
                    text="Alma is a ferry. She was built in Odense.",
                    units=((0, 16), (16, 16), (16, 41)),
                    support=((16, 41),),
                ),
                ContextDocument(
                    title="Vega",
                    text="Vega was built in Odense. She is blue.",
                    units=((0, 25), (25, 38)),
                    support=((0, 25),),
                ),
                ContextDocument(
                    title="Odense", text="Odense is a city.", units=((0, 17),), support=()
                ),
            ),
        )
    ]


def test_the_hubs_layout_gives_the_same(write):
    assert read(write([HUB])) == read(write([OFFICIAL]))
    assert read(write(HUB, name="hub.jsonl")) == read(write([OFFICIAL]))


def test_a_question_without_supporting_facts_marks_no_support(write):
    test_split = {key: value for key, value in OFFICIAL.items() if key != "supporting_facts"}
    (example,) = read(write([test_split]))
    assert [document.support for document in example.context] == [None] * 3


@pytest.mark.parametrize("fact", [["Vega", 2], ["Vega", -1], ["Nowhere", 0]])
def test_a_supporting_fact_that_fits_nothing_is_left_out_and_counted(write, caplog, fact):
    with caplog.at_level(logging.WARNING):
        (example,) = read(write([changed(supporting_facts=[["Vega", 1], fact])]))
    assert [document.support for document in example.context] == [(), ((25, 38),), ()]
    assert "1 examples with a supporting fact that names no sentence" in caplog.text


def test_a_fact_named_twice_is_one(write, caplog):
    (example,) = read(write([changed(supporting_facts=[["Vega", 1], ["Vega", 1]])]))
    assert [document.support for document in example.context] == [(), ((25, 38),), ()]
    assert caplog.text == ""


def test_of_paragraphs_with_one_title_that_with_the_sentence_is_meant(write):
    twice = [["Vega", ["Short."]], ["Vega", ["Long.", " Longer."]]]
    (example,) = read(write([changed(context=twice, supporting_facts=[["Vega", 1]])]))
    assert [document.support for document in example.context] == [(), ((5, 13),)]


def test_fewer_paragraphs_are_no_fault(write):
    (example,) = read(write([changed(context=OFFICIAL["context"][:1])]))
    assert len(example.context) == 1


def test_a_question_without_an_id_is_named_by_its_number(write):
    nameless = {key: value for key, value in OFFICIAL.items() if key != "_id"}
    found = read(write([nameless, {**nameless, "question": "Which?"}], name="dev_v1.json"))
    assert [example.id for example in found] == ["dev_v1-1", "dev_v1-2"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"question": ""}, "question"),
        ({"answer": None}, "answer"),
        ({"_id": 1.5}, "_id"),
        ({"context": []}, "context"),
        ({"context": None}, "context"),
        ({"context": [["Alma"]]}, r"context\[0\]"),
        ({"context": [["Alma", "text"]]}, r"context\[0\]\.sentences"),
        ({"context": [["Alma", ["a", None]]]}, r"context\[0\]\.sentences\[1\]"),
        ({"context": {"title": ["a", "b"], "sentences": [["c"]]}}, "context"),
        ({"supporting_facts": [["Alma", "0"]]}, r"supporting_facts\[0\]\.sent_id"),
        ({"supporting_facts": "Alma"}, "supporting_facts"),
    ],
)
def test_a_fault_names_file_record_and_field(write, change, field):
    with pytest.raises(UserError, match=rf"raw\.json: record 2: {field}: "):
        read(write([OFFICIAL, changed(**{"_id": "other", **change})]))


def test_real_questions_in_the_hubs_layout(sample):
    path = sample("hotpotqa/hf-layout.dev_distractor.sample.json")
    raw = json.loads(Path(path).read_text("utf-8"))
    examples = read(path)
    assert len({example.id for example in examples}) == len(raw) == 25
    for example, record in zip(examples, raw, strict=True):
        titles, sentences = record["context"]["title"], record["context"]["sentences"]
        facts = record["supporting_facts"]
        marked = {
            (document.title, document.text[start:end])
            for document in example.context
            for start, end in document.support
        }
        stated = {
            (title, sentences[titles.index(title)][number])
            for title, number in zip(facts["title"], facts["sent_id"], strict=True)
            if title in titles
        }
        assert marked == stated
        assert [document.title for document in example.context] == titles
        assert [
            [document.text[start:end] for start, end in document.units]
            for document in example.context
        ] == sentences


def test_a_record_whose_facts_all_lead_nowhere(sample, caplog):
    with caplog.at_level(logging.WARNING):
        (example,) = read(sample("hotpotqa/original-layout.dummy.json"))
    assert [document.support for document in example.context] == [(), ()]
    assert "supporting fact that names no sentence" in caplog.text
