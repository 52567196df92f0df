import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from ctxaudit.config.root import Config
from ctxaudit.errors import UserError
from ctxaudit.llm import requests
from ctxaudit.llm.calling import Calling, from_environment, to_environment
from ctxaudit.llm.client import Client, open_client
from ctxaudit.llm.requests import GREEDY, Call, ChatRequest, Completion, Identity
from ctxaudit.llm.store import ResponseStore

ROOT = Path(__file__).parents[2]


def calling(llm: dict[str, Any]) -> Calling:
    return Calling.model_validate({"llm": llm})


class Echo:
    """A backend that repeats the last message and counts what it is asked."""

    identity = Identity("local", "echo")
    sampling: Mapping[str, Any] = GREEDY
    scores_choices = True
    takes_schema = False

    def __init__(self, finish: str = "stop") -> None:
        self.finish = finish
        self.asked: list[str] = []

    def check(self, reply: Completion) -> None:
        pass

    def complete(
        self, calls: Sequence[Call], store: ResponseStore, *, batch_size: int
    ) -> list[Completion]:
        texts = [call.request.messages[-1]["content"] for call in calls]
        self.asked += texts
        return [
            store.put(call, Completion(text=text, finish=self.finish))
            for call, text in zip(calls, texts, strict=True)
        ]


def request(text: str, **changes: Any) -> ChatRequest:
    options = {"max_new_tokens": 4, **changes}
    return ChatRequest(model="m", messages=[{"role": "user", "content": text}], **options)


def client(folder: Path, backend: Echo, **options: Any) -> Client:
    return Client("m", backend, ResponseStore(folder), **options)


def texts(replies: Sequence[Completion]) -> list[str]:
    return [reply.text for reply in replies]


def key(identity: Identity = Echo.identity, text: str = "a", **changes: Any) -> str:
    return requests.call(request(text, **changes), identity).key


def test_replies_come_in_order_and_equal_requests_are_asked_once(tmp_path: Path):
    backend = Echo()
    asked = [request("a"), request("b"), request("a")]
    assert texts(client(tmp_path, backend).complete(asked)) == ["a", "b", "a"]
    assert sorted(backend.asked) == ["a", "b"]


def test_what_is_stored_is_not_asked_again(tmp_path: Path):
    client(tmp_path, Echo()).complete([request("a")])
    backend = Echo()
    assert texts(client(tmp_path, backend).complete([request("b"), request("a")])) == ["b", "a"]
    assert backend.asked == ["b"]


def test_any_change_of_the_request_or_of_who_answers_is_another_key():
    keys = {
        key(),
        key(Identity("openai", "echo")),
        key(Identity("local", "other")),
        key(text="b"),
        key(max_new_tokens=5),
        key(sampling={"temperature": 1}),
        key(sampling={"temperature": 0, "top_p": 0.5}),
        key(sampling={"temperature": 0, "seed": 0}),
        key(schema={"type": "object"}),
        key(replicate=1),
        key(choices=("1", "2")),
        key(chat=False),
    }
    assert len(keys) == 12


def test_what_cannot_change_the_reply_is_not_in_the_key():
    assert key(sampling={"temperature": 0.0}) == key(sampling=GREEDY) == key()
    assert key(sampling={"top_p": 1, "seed": 2}) == key(sampling={"seed": 2.0, "top_p": 1.0})
    renamed = ChatRequest(
        model="other", messages=[{"content": "a", "role": "user"}], max_new_tokens=4
    )
    assert requests.call(renamed, Echo.identity).key == key()


def test_the_key_is_the_digest_of_what_the_entry_holds(tmp_path: Path):
    client(tmp_path, Echo()).complete([request("a")])
    (path,) = tmp_path.rglob("*.json")
    entry = json.loads(path.read_text("utf-8"))
    assert requests.digest(requests.canonical(entry["request"])) == path.stem == key()
    assert entry["request"]["messages"] == [{"role": "user", "content": "a"}]
    assert entry["request"]["sampling"] == {"temperature": 0}


def test_a_torn_entry_is_asked_again_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    client(tmp_path, Echo()).complete([request("a")])
    (entry,) = tmp_path.rglob("*.json")
    entry.write_text(entry.read_text("utf-8")[:40], encoding="utf-8")
    backend = Echo()
    assert texts(client(tmp_path, backend).complete([request("a")])) == ["a"]
    assert backend.asked == ["a"]
    assert "unreadable reply" in caplog.text
    assert json.loads(entry.read_text("utf-8"))["completion"]["text"] == "a"


@pytest.mark.parametrize("finish", ["stop", "length", "refusal", "error"])
def test_every_outcome_is_kept(tmp_path: Path, finish: str):
    assert client(tmp_path, Echo(finish)).complete([request("a")])[0].finish == finish
    backend = Echo()
    assert client(tmp_path, backend).complete([request("a")])[0].finish == finish
    assert backend.asked == []


def test_undefined_ratings_are_counted_by_reason(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.INFO, logger="ctxaudit"):
        ratings = client(tmp_path, Echo()).rate([request("7"), request("many"), request("99")])
    assert [rating.reason for rating in ratings] == ["", "unparsable", "out of range"]
    assert "3 ratings, 2 undefined" in caplog.text
    assert "undefined: unparsable: 1" in caplog.text


def test_replay_names_how_many_replies_are_missing(tmp_path: Path):
    client(tmp_path, Echo()).complete([request("a")])
    backend = Echo()
    replaying = client(tmp_path, backend, replay=True)
    assert texts(replaying.complete([request("a")])) == ["a"]
    with pytest.raises(UserError, match="replay: 2 of 3 replies of 'm' are not in"):
        replaying.complete([request("a"), request("b"), request("c"), request("c")])
    assert backend.asked == []


@pytest.mark.parametrize("mode", ["live", "replay"])
def test_an_endpoint_with_all_replies_stored_needs_no_key_and_no_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    entry = {"kind": "endpoint", "model": "judge-2026-01-01"}
    ledger = tmp_path / "ledger.jsonl"
    opened = open_client(
        "m", entry, [], calling({"mode": mode}), store=tmp_path / "r", ledger=ledger
    )
    (call,) = opened.calls([request("a")])
    ResponseStore(tmp_path / "r").put(
        call, Completion(text="kept", finish="stop", model="judge-2026-01-01")
    )
    assert texts(opened.complete([request("a")])) == ["kept"]
    assert not ledger.exists()


def test_a_budget_without_a_price_is_refused(tmp_path: Path):
    entry = {"kind": "endpoint", "model": "judge-2026-01-01"}
    with pytest.raises(UserError, match="no price for 'm'"):
        open_client("m", entry, [], calling({"budget_usd": 1}), store=tmp_path)


def test_what_cannot_change_a_reply_reaches_the_jobs_by_the_environment(tmp_path: Path):
    raw = yaml.safe_load((ROOT / "config/paper.yaml").read_text("utf-8"))
    raw["llm"]["budget_usd"] = 3.5
    raw["models"]["gpt-4o"]["traffic"] = {"max_in_flight": 2}
    environment: dict[str, str] = {}
    to_environment(Config.model_validate(raw), environment)
    found = from_environment(environment)
    assert found.llm.budget_usd == 3.5
    assert found.llm.prices.models["gpt-4o"].output == 10.0
    assert found.traffic["gpt-4o"].max_in_flight == 2
    assert from_environment({}) == Calling()


def test_a_job_reads_its_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CTXAUDIT_CALLING", '{"llm": {"mode": "replay"}}')
    entry = {"kind": "endpoint", "model": "judge-2026-01-01"}
    opened = open_client("m", entry, [], store=tmp_path / "r", ledger=tmp_path / "l")
    with pytest.raises(UserError, match="replay: 1 of 1"):
        opened.complete([request("a")])
