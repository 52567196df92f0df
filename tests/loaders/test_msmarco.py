import gzip
import json
import logging
import random
import tracemalloc
from pathlib import Path

import pytest

from ctxaudit.datasets import msmarco
from ctxaudit.errors import UserError
from ctxaudit.interface import ContextDocument, Example

PASSAGES = [
    {"is_selected": 0, "passage_text": "Ferries carry cars.", "url": "http://a.example"},
    {"is_selected": 1, "passage_text": " A ferry is a ship. ", "url": "http://b.example"},
]
ROW = {
    "answers": ["A ship.", "A boat."],
    "passages": PASSAGES,
    "query": "what is a ferry",
    "query_id": 1102432,
    "query_type": "DESCRIPTION",
    "wellFormedAnswers": ["A ferry is a ship."],
}


def changed(**change):
    return {**ROW, **change}


def columns(*rows, first=19699):
    """Rows as one object of columns, as v2.1 comes."""
    return {key: {str(first + n): row[key] for n, row in enumerate(rows)} for key in rows[0]}


def read(path):
    return list(msmarco.load(str(path)))


def test_a_row_with_its_passages(write):
    assert read(write(columns(ROW))) == [
        Example(
            id="1102432",
            query="what is a ferry",
            sources=(),
            task="reasoning",
            gold="A ship.",
            group="1102432",
            tags={
                "gold_all": '["A ship.", "A boat."]',
                "well_formed": '["A ferry is a ship."]',
                "query_type": "DESCRIPTION",
            },
            context=(
                ContextDocument(text="Ferries carry cars.", support=()),
                ContextDocument(text=" A ferry is a ship. ", support=((0, 20),)),
            ),
        )
    ]


ROWS = [changed(query_id=n, query=f"query {n}", answers=[f"answer {n}"]) for n in range(40)]


def test_columns_give_the_same_as_lines(write, tmp_path):
    expected = read(write(*ROWS, name="lines.jsonl"))
    assert [example.query for example in expected] == [f"query {n}" for n in range(40)]
    assert read(write(columns(*ROWS))) == expected
    indented = tmp_path / "indented.json"
    indented.write_text(json.dumps(columns(*ROWS), indent=1), encoding="utf-8")
    assert read(indented) == expected
    packed = tmp_path / "packed.json"
    packed.write_bytes(gzip.compress(json.dumps(columns(*ROWS)).encode()))
    assert read(packed) == expected


def test_columns_may_stand_in_any_order(write):
    names = list(ROW)
    random.Random(0).shuffle(names)
    assert names != list(ROW)
    shuffled = {name: columns(*ROWS)[name] for name in names}
    assert read(write(shuffled)) == read(write(columns(*ROWS)))


def test_rows_as_version_1_1_has_them(write):
    old = {key: value for key, value in ROW.items() if key != "wellFormedAnswers"}
    (example,) = read(write(old))
    assert "well_formed" not in example.tags
    assert example.gold == "A ship."


def test_rows_as_the_hub_has_them(write):
    table = {key: [passage[key] for passage in PASSAGES] for key in PASSAGES[0]}
    assert read(write(changed(passages=table))) == read(write(ROW))
    first = {"passages": table, **{k: v for k, v in ROW.items() if k != "passages"}}
    assert read(write(first)) == read(write(ROW))


@pytest.mark.parametrize("value", ["[]", [], None, [""]])
def test_no_well_formed_answer_is_spelt_in_many_ways(write, value):
    (example,) = read(write(changed(wellFormedAnswers=value)))
    assert "well_formed" not in example.tags


@pytest.mark.parametrize("answers", [["No Answer Present."], [], [""], None])
def test_a_question_without_an_answer_is_left_out_and_counted(write, caplog, answers):
    with caplog.at_level(logging.INFO):
        found = read(write(ROW, changed(query_id=2, answers=answers)))
    assert [example.id for example in found] == ["1102432"]
    assert "1 examples; left out: 1 with no answer" in caplog.text


@pytest.mark.parametrize("selected", [-1, None])
def test_what_is_not_annotated_is_not_unselected(write, selected):
    passages = [{**PASSAGES[0], "is_selected": selected}]
    (example,) = read(write(changed(passages=passages)))
    assert example.context[0].support is None


def test_blank_passages_are_left_out_and_counted(write, caplog):
    blank = {**PASSAGES[0], "passage_text": " "}
    with caplog.at_level(logging.INFO):
        found = read(
            write(changed(passages=[blank, *PASSAGES]), changed(query_id=2, passages=[blank]))
        )
    assert [len(example.context) for example in found] == [2]
    assert "1 with no passage" in caplog.text
    assert "1 examples with a blank passage" in caplog.text


def test_wrongly_decoded_passages_stay_and_are_counted(write, caplog):
    passage = {**PASSAGES[1], "passage_text": "It isnâ€™t a bridge."}
    with caplog.at_level(logging.WARNING):
        (example,) = read(write(changed(passages=[passage])))
    assert example.context[0].text == "It isnâ€™t a bridge."
    assert "1 examples with text that looks wrongly decoded" in caplog.text


@pytest.mark.parametrize("name", [2**63 - 1, -(2**63)])
def test_ids_stay_exact(write, name):
    assert read(write(columns(changed(query_id=name))))[0].id == str(name)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"query": ""}, "query"),
        ({"query_id": 7.0}, "query_id"),
        ({"answers": "A ship."}, "answers"),
        ({"answers": [1]}, r"answers\[0\]"),
        ({"passages": None}, "passages"),
        ({"passages": [{"is_selected": 1}]}, r"passages\[0\]\.passage_text"),
        ({"passages": [{**PASSAGES[0], "is_selected": 2}]}, r"passages\[0\]\.is_selected"),
        ({"passages": [{**PASSAGES[0], "is_selected": True}]}, r"passages\[0\]\.is_selected"),
        ({"wellFormedAnswers": "some"}, "wellFormedAnswers"),
    ],
)
def test_a_fault_names_file_row_and_field(write, change, field):
    rows = (ROW, changed(**{"query_id": 2, **change}))
    with pytest.raises(UserError, match=rf"raw\.json:2: {field}: "):
        read(write(*rows))
    with pytest.raises(UserError, match=rf"raw\.json: row 19700: {field}: "):
        read(write(columns(*rows)))


def test_columns_with_other_rows_are_refused(write):
    raw = columns(*ROWS)
    del raw["query"]["19702"]
    with pytest.raises(UserError, match=r"columns differ in their rows .*query: 19703"):
        read(write(raw))
    raw = columns(*ROWS)
    del raw["query_type"]["19738"]
    with pytest.raises(UserError, match=r"columns differ in their rows .*query_type: None"):
        read(write(raw))


def test_a_column_that_is_none_is_refused(write):
    with pytest.raises(UserError, match=r"raw\.json:1: not valid JSON: expected \{"):
        read(write({**columns(ROW), "version": 2.1}))


def write_columns(path: Path, num_rows: int) -> None:
    """Column by column, so that writing does not hold the rows either."""
    passages = [{**PASSAGES[0], "passage_text": "x" * 2500}] * 2
    values = {
        "answers": lambda n: [f"answer {n}"],
        "passages": lambda n: passages,
        "query": lambda n: f"query {n}",
        "query_id": lambda n: n,
        "wellFormedAnswers": lambda n: "[]",
    }
    with path.open("w", encoding="utf-8") as stream:
        for at, (key, value) in enumerate(values.items()):
            stream.write(f'{"," if at else "{"}"{key}":')
            for n in range(num_rows):
                stream.write(f'{"," if n else "{"}"{n}":{json.dumps(value(n))}')
            stream.write("}")
        stream.write("}")


def test_columns_are_never_in_memory_as_a_whole(tmp_path):
    path = tmp_path / "dev_v2.1.json"
    write_columns(path, 3_000)
    tracemalloc.start()
    try:
        assert sum(1 for _ in msmarco.load(str(path))) == 3_000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Five columns with a few chunks of text each, and an id and a digest per row.
    assert peak < 5_000_000 < path.stat().st_size / 3
