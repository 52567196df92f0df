import logging

import pytest

from ctxaudit.datasets import intake
from ctxaudit.datasets.fields import Record
from ctxaudit.errors import UserError
from ctxaudit.interface import ContextDocument, Example


def record(name, **fields):
    return Record(f"raw.json:{name}", "", {"id": name, **fields})


def build(raw):
    if raw.has("omitted"):
        return intake.Omitted(raw.string("omitted"))
    tags = {intake.QUIRK: raw.string("quirk")} if raw.has("quirk") else {}
    text = raw.string("text") if raw.has("text") else f"text of {raw.string('id')}"
    document = ContextDocument(text=text)
    return Example(
        id=raw.string("id"), query="?", sources=(), task="reasoning", tags=tags, context=(document,)
    )


def take(*records):
    return list(intake.examples("raw.json", records, build))


def test_a_repeated_id_is_named_with_its_place():
    with pytest.raises(UserError, match=r"^raw\.json:a: id: 'a' occurs twice"):
        take(record("a"), record("b"), record("a"))


def test_what_is_left_out_is_counted_by_reason(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.INFO):
        taken = take(
            record("a", omitted="no answer"),
            record("b"),
            record("c", omitted="no page"),
            record("d", omitted="no answer"),
        )
    assert [example.id for example in taken] == ["b"]
    assert "raw.json: 1 examples; left out: 2 with no answer, 1 with no page" in caplog.text


def test_nothing_left_is_a_fault_that_says_why():
    with pytest.raises(UserError, match="can be used: 1 with no answer"):
        take(record("a", omitted="no answer"))
    with pytest.raises(UserError, match=r"holds no questions$"):
        take()


@pytest.mark.parametrize("twin", ["Caf\u00e9  au lait", "cafe\u0301 au\nlait", "CAF\u00c9 AU LAIT"])
def test_repeated_texts_are_kept_and_counted(caplog: pytest.LogCaptureFixture, twin):
    with caplog.at_level(logging.WARNING):
        taken = take(record("a", text="Caf\u00e9 au lait"), record("b", text=twin))
    assert [example.context[0].text for example in taken] == ["Caf\u00e9 au lait", twin]
    assert "1 examples with the same text as an earlier one" in caplog.text


@pytest.mark.parametrize("text", ["38В°C", "donâ€™t", "cafÃ©", "Â£5", "no\ufffd"])
def test_text_that_looks_wrongly_decoded_is_kept_and_counted(caplog, text):
    with caplog.at_level(logging.WARNING):
        (example,) = take(record("a", text=text))
    assert example.context[0].text == text
    assert "1 examples with text that looks wrongly decoded" in caplog.text


@pytest.mark.parametrize("text", ["38 °C", "don’t", "café", "£5", "À côté", "Вода", "ÂGE", "Ärger"])
def test_good_text_raises_no_alarm(caplog, text):
    with caplog.at_level(logging.WARNING):
        take(record("a", text=text))
    assert caplog.text == ""


def test_quirks_are_counted(caplog):
    with caplog.at_level(logging.WARNING):
        take(record("a", quirk="a blank passage"), record("b", quirk="a blank passage"))
    assert "raw.json: 2 examples with a blank passage" in caplog.text


@pytest.mark.parametrize("value", ["\ud800", "a\udfffb"])
def test_text_that_no_file_can_hold_is_refused(value):
    with pytest.raises(UserError, match="text: holds a character that is not valid Unicode"):
        record("a", text=value).string("text")


@pytest.mark.parametrize("value", [1.0, 2.0**63, True, None, "", [1]])
def test_what_is_no_id_is_refused(value):
    with pytest.raises(UserError, match=r"^raw\.json:a: number: expected "):
        record("a", number=value).name("number")


@pytest.mark.parametrize(
    "value",
    [None, "x", {"a": [1], "b": [1, 2]}, {"a": 1}, {"a": [1], "b": 2}, [{"a": 1}, 2]],
)
def test_what_is_no_list_of_objects_is_refused(value):
    with pytest.raises(UserError, match=r"^raw\.json:a: parts"):
        record("a", parts=value).objects("parts")


def test_objects_are_the_same_from_rows_and_columns():
    rows, columns = [{"x": 1, "y": "a"}, {"x": 2, "y": "b"}], {"x": [1, 2], "y": ["a", "b"]}
    assert record("a", parts=rows).objects("parts") == [
        Record("raw.json:a", "", row, f"parts[{number}].") for number, row in enumerate(rows)
    ]
    found = [part.fields for part in record("a", parts=columns).objects("parts")]
    assert found == rows


def test_an_inner_fault_is_named_with_its_path():
    (part,) = record("a", parts=[{"x": 1}]).objects("parts")
    with pytest.raises(UserError, match=r"^raw\.json:a: parts\[0\]\.x: expected text, got 1$"):
        part.string("x")
    with pytest.raises(UserError, match=r"parts\[0\]\.y: expected text, it is missing$"):
        part.string("y")
