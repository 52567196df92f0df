import json
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from ctxaudit.llm.client import Client, open_client
from ctxaudit.llm.requests import ChatRequest, Completion
from ctxaudit.llm.store import ResponseStore


class Echo:
    """A backend that repeats the last message and counts what it is asked."""

    digest = "echo"

    def __init__(self, finish: str = "stop") -> None:
        self.finish = finish
        self.asked: list[str] = []

    def complete(
        self, requests: Sequence[ChatRequest], *, batch_size: int
    ) -> Iterator[tuple[int, Completion]]:
        for at in reversed(range(len(requests))):
            text = requests[at].messages[-1]["content"]
            self.asked.append(text)
            yield at, Completion(text=text, finish=self.finish)


def request(text: str, **changes: int) -> ChatRequest:
    options = {"max_new_tokens": 4, **changes}
    return ChatRequest(model="m", messages=[{"role": "user", "content": text}], **options)


def client(folder: Path, backend: Echo) -> Client:
    return Client("m", backend, ResponseStore(folder, backend.digest))


def texts(replies: Sequence[Completion]) -> list[str]:
    return [reply.text for reply in replies]


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


def test_any_change_of_the_request_or_backend_is_another_key():
    keys = {
        request("a").key("echo"),
        request("a").key("other"),
        request("b").key("echo"),
        request("a", max_new_tokens=5).key("echo"),
        request("a", temperature=1).key("echo"),
    }
    assert len(keys) == 5


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


def test_an_error_is_returned_but_not_kept(tmp_path: Path):
    assert client(tmp_path, Echo("error")).complete([request("a")])[0].finish == "error"
    assert not list(tmp_path.rglob("*.json"))


def test_undefined_ratings_are_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.INFO, logger="ctxaudit"):
        ratings = client(tmp_path, Echo()).rate([request("7"), request("many"), request("99")])
    assert [rating.reason for rating in ratings] == ["", "unparsable", "out of range"]
    assert "3 ratings, 2 undefined" in caplog.text


def test_an_endpoint_with_all_replies_stored_needs_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    entry = {"kind": "endpoint", "model": "judge-2026-01-01"}
    opened = open_client("m", entry, [], store=tmp_path)
    stored = ResponseStore(tmp_path, opened._backend.digest)
    stored.put(request("a"), Completion(text="kept", finish="stop"))
    assert texts(opened.complete([request("a")])) == ["kept"]
