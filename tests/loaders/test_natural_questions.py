import copy
import json
import logging

import pytest

from ctxaudit.datasets import natural_questions
from ctxaudit.errors import UserError
from ctxaudit.interface import ContextDocument, Example

PAGE = "<H1> Ferry </H1> <P> A ferry is a ship . </P> <Table> <Tr> <Td> Odense </Td> </Tr> </Table>"
TOKENS = PAGE.split(" ")
PARAGRAPH, TABLE = (3, 11), (11, 17)


def span(place, **more):
    return {"start_token": place[0], "end_token": place[1], **more}


def annotation(long=PARAGRAPH, short=((7, 9),), yes_no="NONE"):
    return {
        "annotation_id": 14170131512118370000,
        "long_answer": span(long, candidate_index=0),
        "short_answers": [span(place) for place in short],
        "yes_no_answer": yes_no,
    }


NOTHING = annotation(long=(-1, -1), short=())
CANDIDATES = [
    span(PARAGRAPH, top_level=True),
    span(TABLE, top_level=True),
    span((12, 16), top_level=False),
]
SIMPLIFIED = {
    "example_id": 5655493461695504401,
    "question_text": "what is a ferry",
    "document_text": PAGE,
    "document_url": "https://en.wikipedia.org//w/index.php?title=Ferry",
    "long_answer_candidates": CANDIDATES,
    "annotations": [annotation()],
}
ORIGINAL = {
    **{key: value for key, value in SIMPLIFIED.items() if key != "document_text"},
    "document_title": "Ferry",
    "document_html": "<html>…</html>",
    "question_tokens": ["what", "is", "a", "ferry"],
    "document_tokens": [
        {"token": t, "start_byte": 9 * n, "end_byte": 9 * n + 5, "html_token": t[0] == "<"}
        for n, t in enumerate(TOKENS)
    ],
}
HUB = {
    "id": "5655493461695504401",
    "question": {"text": "what is a ferry", "tokens": ["what", "is", "a", "ferry"]},
    "document": {
        "title": "Ferry",
        "url": "https://en.wikipedia.org/ferry",
        "html": "",
        "tokens": {"token": TOKENS, "is_html": [t[0] == "<" for t in TOKENS]},
    },
    "long_answer_candidates": {key: [c[key] for c in CANDIDATES] for key in CANDIDATES[0]},
    "annotations": {
        "id": ["1"],
        "long_answer": [span(PARAGRAPH, candidate_index=0)],
        "short_answers": [{"start_token": [7], "end_token": [9], "text": ["a ship"]}],
        "yes_no_answer": [-1],
    },
}
TEXT = "Ferry A ferry is a ship . Odense"


def changed(**change):
    return {**copy.deepcopy(SIMPLIFIED), **change}


def read(path):
    return list(natural_questions.load(path))


def gold(write, *annotations):
    (example,) = read(write(changed(annotations=list(annotations))))
    return example.gold, example.tags["answer_kind"], example.tags["long_answer"]


def test_a_question_with_its_page(write):
    expected = Example(
        id="5655493461695504401",
        query="what is a ferry",
        sources=(),
        task="reasoning",
        gold="a ship",
        group="5655493461695504401",
        tags={"gold_all": '["a ship"]', "answer_kind": "short", "long_answer": "p"},
        context=(
            ContextDocument(
                title="Ferry",
                text=TEXT,
                units=((6, 25), (26, 32)),
                support=((6, 25),),
                answers=((17, 23),),
            ),
        ),
    )
    assert read(write(ORIGINAL)) == [expected]
    assert [TEXT[slice(*place)] for place in ((6, 25), (17, 23))] == [
        "A ferry is a ship .",
        "a ship",
    ]


def test_the_simplified_form_gives_the_same_without_a_title(write):
    (simplified,), (original,) = read(write(SIMPLIFIED, name="s.json")), read(write(ORIGINAL))
    assert simplified.context[0].title == ""
    assert (simplified.context[0].text, simplified.tags) == (TEXT, original.tags)
    assert simplified.context[0].units == original.context[0].units


def test_the_hubs_rows_give_the_same(write):
    assert read(write(HUB)) == read(write(ORIGINAL))


def test_shards_of_a_folder_are_read_in_order(write, tmp_path):
    write(changed(example_id=2), name="nq-train-01.jsonl")
    write(changed(example_id=1), name="nq-train-00.jsonl")
    assert [example.id for example in read(str(tmp_path))] == ["1", "2"]


@pytest.mark.parametrize("name", [2**63 - 1, -(2**63), -1])
def test_ids_stay_exact(write, name):
    assert read(write(changed(example_id=name)))[0].id == str(name)


def test_white_space_other_than_a_blank_stays_inside_its_token(write):
    page = PAGE.replace("ferry is", "fer\u00a0ry i\ns")
    (example,) = read(write(changed(document_text=page)))
    assert example.gold == "a ship"
    assert example.context[0].text == TEXT.replace("ferry is", "fer\u00a0ry i\ns")


def test_tags_with_attributes_are_html_and_signs_are_not(write):
    page = PAGE.replace("<Td>", '<Td_colspan="2">').replace("Ferry", "<").replace("Odense", "a<b")
    (example,) = read(write(changed(document_text=page)))
    assert example.context[0].text == "< A ferry is a ship . a<b"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (annotation(), ("a ship", "short", "p")),
        (annotation(short=(), yes_no="YES"), ("yes", "yes_no", "p")),
        (annotation(short=(), yes_no="NO"), ("no", "yes_no", "p")),
        (annotation(short=()), ("A ferry is a ship .", "long", "p")),
        (annotation(short=(), long=TABLE), ("Odense", "long", "table")),
        (annotation(short=((3, 4),)), ("A ferry is a ship .", "long", "p")),
    ],
)
def test_the_gold_answer_is_short_or_yes_or_no_or_long(write, given, expected):
    assert gold(write, given) == expected


def test_all_short_answers_are_kept(write):
    (example,) = read(write(changed(annotations=[annotation(short=((8, 9), (5, 6)))])))
    assert json.loads(example.tags["gold_all"]) == ["ship", "ferry"]
    assert example.context[0].answers == ((8, 13), (19, 23))


def test_a_unit_without_text_is_empty(write):
    candidates = [*CANDIDATES[:1], span((11, 13), top_level=True)]
    (example,) = read(write(changed(long_answer_candidates=candidates)))
    assert example.context[0].units == ((6, 25), (25, 25))


def test_of_five_annotations_the_first_with_a_long_answer_counts(write):
    five = [NOTHING, annotation(short=(), long=TABLE), annotation(), NOTHING, NOTHING]
    assert gold(write, *five) == ("Odense", "long", "table")


def test_what_has_no_long_answer_is_left_out_and_counted(write, caplog):
    with caplog.at_level(logging.INFO):
        read(
            write(
                SIMPLIFIED,
                changed(example_id=1, annotations=[NOTHING]),
                changed(example_id=2, annotations=[]),
                changed(example_id=3, annotations=[annotation(long=(11, 13), short=())]),
            )
        )
    told = "1 examples; left out: 2 with no long answer, 1 with no text in the long answer"
    assert told in caplog.text


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"example_id": 1e18}, "example_id"),
        ({"question_text": ""}, "question_text"),
        ({"document_text": None}, "document_text"),
        ({"annotations": None}, "annotations"),
        ({"annotations": [{}]}, r"annotations\[0\]\.long_answer"),
        ({"annotations": [annotation(yes_no="MAYBE")]}, r"annotations\[0\]\.yes_no_answer"),
        ({"annotations": [annotation(yes_no=["YES"])]}, r"annotations\[0\]\.yes_no_answer"),
        (
            {"annotations": [annotation(long=(3, 99))]},
            r"annotations\[0\]\.long_answer\.start_token",
        ),
        ({"annotations": [annotation(short=((9, 9),))]}, r"short_answers\[0\]\.start_token"),
        ({"long_answer_candidates": [span((0, 1))]}, r"long_answer_candidates\[0\]\.top_level"),
        ({"document_tokens": [{"token": "a"}]}, r"document_tokens\[0\]"),
        ({"document_tokens": [3]}, r"document_tokens\[0\]"),
    ],
)
def test_a_fault_names_file_line_and_field(write, change, field):
    with pytest.raises(UserError, match=rf"raw\.json:2: .*{field}: "):
        read(write(SIMPLIFIED, changed(**{"example_id": 1, **change})))


@pytest.mark.parametrize("name", ["NQ-open.dev", "NQ-open.efficientqa.test.1.1"])
def test_the_real_open_form_is_refused(sample, name):
    with pytest.raises(UserError, match=r"jsonl:1: document_text: .*NQ-Open has no page"):
        read(sample(f"natural_questions/{name}.sample.jsonl"))
