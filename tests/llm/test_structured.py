import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest

from ctxaudit.llm import structured
from ctxaudit.llm.client import Client
from ctxaudit.llm.requests import Completion
from tests.llm.scripted_server import Action, ScriptedServer, chat

Open = Callable[..., Client]
Ask = Callable[..., Any]

SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "integer", "minimum": 0, "maximum": 10}},
    "required": ["score"],
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"score": 7}', 7),
        (' {"score": 7}\n', 7),
        ('```json\n{"score": 7}\n```', 7),
    ],
)
def test_json_alone_or_in_a_fence_is_read(text: str, value: int):
    found = structured.read(Completion(text=text, finish="stop"), SCHEMA)
    assert (found.outcome, found.value) == ("valid", {"score": value})


@pytest.mark.parametrize(
    ("text", "finish", "outcome"),
    [
        ("seven", "stop", "unparsable"),
        ("", "stop", "unparsable"),
        ("[" * 5000 + "]" * 5000, "stop", "unparsable"),
        ('{"a":' * 300 + "7" + "}" * 300, "stop", "invalid"),
        ('{"score": 1' + "0" * 400 + "}", "stop", "invalid"),
        ('{"score": NaN}', "stop", "unparsable"),
        ('{"score": 7} and more', "stop", "unparsable"),
        ('{"score": 11}', "stop", "invalid"),
        ('{"score": "7"}', "stop", "invalid"),
        ('{"grade": 7}', "stop", "invalid"),
        ("[]", "stop", "invalid"),
        ('{"score": 7}', "length", "length"),
        ("I cannot", "refusal", "refusal"),
        ("", "error", "error"),
    ],
)
def test_all_else_is_an_outcome_without_a_value(text: str, finish: Any, outcome: str):
    found = structured.read(Completion(text=text, finish=finish), SCHEMA)
    assert (found.outcome, found.value) == (outcome, None)


@pytest.mark.parametrize(
    ("style", "sent"),
    [
        (
            "json_schema",
            {
                "type": "json_schema",
                "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True},
            },
        ),
        ("json_object", {"type": "json_object", "schema": SCHEMA}),
        ("none", None),
    ],
)
def test_the_schema_is_sent_in_the_style_of_the_endpoint(
    server: ScriptedServer, open_judge: Open, ask: Ask, style: str, sent: Any
):
    server.play("a", [Action(body=chat('{"score": 1}'))])
    (found,) = open_judge(structured_output=style).structured([ask("a", schema=SCHEMA)])
    assert found.value == {"score": 1}
    assert server.received[0].body.get("response_format") == sent


def test_a_repair_shows_the_fault_and_every_call_is_stored(
    server: ScriptedServer, open_judge: Open, ask: Ask
):
    # The server answers the repair's own words with a valid object.
    server.play("a", [Action(body=chat('{"score": 11}'))])
    server.usual = Action(body=chat('{"score": 10}'))
    for _ in range(2):
        found = open_judge().structured([ask("a", schema=SCHEMA), ask("b", schema=SCHEMA)])
        assert [asdict(item) for item in found] == [
            {"value": {"score": 10}, "outcome": "valid", "num_repairs": 1, "fault": ""},
            {"value": {"score": 10}, "outcome": "valid", "num_repairs": 0, "fault": ""},
        ]
    assert len(server.received) == 3
    repair = server.received[-1].body["messages"]
    assert [message["role"] for message in repair] == ["user", "assistant", "user"]
    assert repair[1]["content"] == '{"score": 11}'
    assert "$.score: 11 is greater than the maximum" in repair[2]["content"]
    assert json.dumps(SCHEMA) in repair[2]["content"]


@pytest.mark.parametrize("most", [0, 2])
def test_repairs_are_bounded(server: ScriptedServer, open_judge: Open, ask: Ask, most: int):
    server.usual = Action(body=chat("seven"))
    (found,) = open_judge(max_repairs=most).structured([ask("a", schema=SCHEMA)])
    assert (found.outcome, found.num_repairs) == ("unparsable", most)
    assert len(server.received) == 1 + most


def test_a_rating_uses_the_schema_where_the_endpoint_takes_one(
    server: ScriptedServer, open_judge: Open, ask: Ask
):
    server.play("a", [Action(body=chat('{"score": 7}'))])
    server.play("b", [Action(body=chat('{"score": 70}'))])
    server.usual = Action(body=chat('{"score": 70}'))
    ratings = open_judge(structured_output="json_schema").rate([ask("a"), ask("b")])
    assert ratings[0].score == 7
    assert ratings[1].reason == "invalid"


def test_a_rating_is_read_from_plain_text_where_it_takes_none(
    server: ScriptedServer, open_judge: Open, ask: Ask
):
    server.play("a", [Action(body=chat("7/10"))])
    assert open_judge().rate([ask("a")])[0].score == 7
    assert "response_format" not in server.received[0].body


def test_a_schema_that_is_sent_in_another_style_is_another_call(
    server: ScriptedServer, open_judge: Open, ask: Ask
):
    server.usual = Action(body=chat("garbage"))
    styles = ["none", "json_schema", "json_object"]
    for style in styles:
        client = open_judge(structured_output=style, max_repairs=0)
        assert client.structured([ask("q", schema=SCHEMA)])[0].outcome == "unparsable"
        (call,) = client.calls([ask("q", schema=SCHEMA)])
        assert json.loads(call.canonical)["structured_output"] == style
    assert len(server.received) == 3
    # Without a schema nothing differs.
    assert len({open_judge(structured_output=s).calls([ask("q")])[0].key for s in styles}) == 1
