"""What a server says of its usage is believed only where it can be true."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctxaudit.llm import batch_files
from ctxaudit.llm.client import Client
from ctxaudit.llm.ledger import Ledger
from ctxaudit.llm.prices import Price, worst_case
from ctxaudit.llm.requests import Answer
from tests.llm.scripted_server import Action, ScriptedServer, chat

Open = Callable[..., Client]
Ask = Callable[..., Any]

SETTINGS = {
    "budget_usd": 1e9,
    "prices": {"as_of": "2026-01-01", "models": {"judge": {"input": 1e6, "output": 1e6}}},
}
UNBELIEVED = {
    "negative": {"prompt_tokens": -500, "completion_tokens": 2},
    "negative output": {"prompt_tokens": 3, "completion_tokens": -3},
    "beyond the worst case": {"prompt_tokens": 10**8, "completion_tokens": 1},
    "huge": {"prompt_tokens": 10**400, "completion_tokens": 1},
    "words": {"prompt_tokens": "many", "completion_tokens": "n/a"},
    "half": {"prompt_tokens": 1.5, "completion_tokens": 1},
    "infinite": {"prompt_tokens": math.inf, "completion_tokens": 1},
    "no number": {"prompt_tokens": 3, "completion_tokens": math.nan},
    "no output": {"prompt_tokens": 3},
    "no input": {"completion_tokens": 3},
    "truth": {"prompt_tokens": True, "completion_tokens": True},
    "list": [1],
    "1e999": 1e999,
    "none": None,
}


@pytest.mark.parametrize("usage", UNBELIEVED.values(), ids=UNBELIEVED)
def test_a_usage_that_cannot_be_true_counts_at_the_worst_case_and_keeps_the_text(
    server: ScriptedServer,
    open_judge: Open,
    ask: Ask,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    usage: Any,
):
    server.usual = Action(body=json.dumps({**chat("fine"), "usage": usage}))
    (reply,) = open_judge(SETTINGS).complete([ask("a")])
    assert reply.text == "fine"
    totals = Ledger(tmp_path / "ledger.jsonl").totals()
    assert totals.spent == worst_case(ask("a"), Price(input=1e6, output=1e6))
    assert "counts at its worst case" in caplog.text
    assert open_judge(SETTINGS).complete([ask("a")]) == [reply]
    assert server.contents() == ["a"]


def test_one_strange_line_of_a_batch_leaves_the_others_readable():
    def line(key: str, body: Any) -> str:
        return json.dumps({"custom_id": key, "response": {"status_code": 200, "body": body}})

    deep = '{"custom_id": "deep", "response": ' + "[" * 10**5 + "]" * 10**5 + "}"
    lines = [line("a", {**chat("x"), "usage": 1e999}), deep, line("b", chat("y"))]
    found = dict(batch_files.read("\n".join(lines).encode(), [], "secret"))
    texts = {key: end.completion.text for key, end in found.items() if isinstance(end, Answer)}
    assert texts == {"a": "x", "b": "y"}
