import io
import json

import hypothesis.strategies as st
import pytest
from hypothesis import given

from ctxaudit.artifacts import json_stream
from ctxaudit.artifacts.json_stream import Cursor
from ctxaudit.errors import UserError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


class Trickle(io.StringIO):
    """Text that comes a few characters at a time, so that every value is cut somewhere."""

    def read(self, size=-1):
        return super().read(min(size, 3))


def at(text, stream=Trickle):
    return Cursor(stream(text), "raw.json")


def drain(cursor):
    while cursor.peek():
        cursor.value()


@given(value=VALUES, indent=st.sampled_from([None, 1]), ascii_only=st.booleans())
def test_a_value_is_what_json_says_wherever_it_is_cut(value, indent, ascii_only):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    cursor = at(f" {text} ")
    assert cursor.value() == value
    assert cursor.peek() == ""


@given(values=st.lists(VALUES), indent=st.sampled_from([None, 1]))
def test_elements_are_those_of_the_array(values, indent):
    cursor = at(json.dumps(values, indent=indent))
    assert [cursor.value() for _ in cursor.elements()] == values
    assert cursor.peek() == ""


@given(fields=st.dictionaries(st.text(), VALUES), indent=st.sampled_from([None, 1]))
def test_members_are_those_of_the_object(fields, indent):
    cursor = at(json.dumps(fields, indent=indent))
    assert {key: cursor.value() for key in cursor.members()} == fields


@given(values=st.lists(VALUES), split=st.integers(min_value=0))
def test_a_second_cursor_goes_on_from_the_position_of_the_first(values, split):
    text = "\n".join(map(json.dumps, values))
    first, second = at(text), at(text)
    read = [first.value() for _ in values[: split % (len(values) + 1)]]
    second.skip(first.position)
    assert second.line == first.line
    assert read + [second.value() for _ in values[len(read) :]] == values


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63), 9676129447864545067, 10**40])
def test_whole_numbers_stay_exact(number):
    assert at(f"[{number}]").value() == [number]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"a": 1}\n{"a": tru}\n', ":2: not valid JSON"),
        ('{"a": 1}\n{"a": "open', ":2: not valid JSON: Unterminated string"),
        ('{"a": 1}\n\n{"a": 1,}', ":3: not valid JSON"),
        ('{"a": "line\nend"}', ":1: not valid JSON: Invalid control character"),
        ('{"a": "' + "x" * 400 + '" "b"}', ":1: not valid JSON: Expecting ',' delimiter"),
        ("[" * 100_000, ":1: not valid JSON: "),
        ("1" * 5000, ":1: not valid JSON: "),
    ],
)
@pytest.mark.parametrize("stream", [Trickle, io.StringIO])
def test_a_fault_is_named_with_its_line(text, place, stream):
    with pytest.raises(UserError, match=f"^raw.json{place}"):
        drain(at(text, stream))


@pytest.mark.parametrize("text", ["[1 2]", "[1", "[1,", "[", "{}"])
def test_a_broken_array_is_refused(text):
    cursor = at(text)
    with pytest.raises(UserError, match="not valid JSON"):
        [cursor.value() for _ in cursor.elements()]


@pytest.mark.parametrize("text", ['{"a" 1}', '{"a": 1', "{1: 2}", '{"a": 1, }', "[]"])
def test_a_broken_object_is_refused(text):
    cursor = at(text)
    with pytest.raises(UserError, match="not valid JSON"):
        [cursor.value() for _ in cursor.members()]


def test_a_fault_far_from_the_end_of_what_is_read_needs_no_more_of_the_file():
    text = '{"a": 1 "b"}' + " " * (3 * json_stream._CHUNK)
    stream = io.StringIO(text)
    with pytest.raises(UserError):
        Cursor(stream, "raw.json").value()
    assert stream.tell() <= json_stream._CHUNK
