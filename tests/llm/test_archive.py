import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctxaudit.errors import UserError
from ctxaudit.llm import archive, requests
from ctxaudit.llm.archive import export_replies, import_replies
from ctxaudit.llm.requests import Completion, Identity
from ctxaudit.llm.store import ResponseStore

Ask = Callable[..., Any]


@pytest.fixture
def filled(tmp_path: Path, ask: Ask) -> ResponseStore:
    return fill(ResponseStore(tmp_path / "filled"), ask, "a", "b", "ü\u2028")


def fill(store: ResponseStore, ask: Ask, *texts: str) -> ResponseStore:
    for text in texts:
        call = requests.call(ask(text), Identity("local", "m"))
        entry = {
            "request": json.loads(call.canonical),
            "completion": {"text": text.upper(), "finish": "stop", "choice_logprobs": [-0.25]},
            "raw": {"id": "1"},
            "received": "2026-01-01T00:00:00+00:00",
            "reservation": "",
        }
        store.put_entry(call.key, entry)
    return store


def test_a_store_survives_the_journey(filled: ResponseStore, tmp_path: Path):
    file = tmp_path / "replies.jsonl"
    assert export_replies(filled, file) == 3
    copy = ResponseStore(tmp_path / "copy")
    assert import_replies(file, copy) == 3
    assert list(copy) == list(filled)
    for key in filled:
        assert copy.entry(key) == filled.entry(key)
    assert import_replies(file, copy) == 0


def test_the_command_exports_imports_and_names_a_fault(
    filled: ResponseStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file, copy = str(tmp_path / "replies.jsonl"), str(tmp_path / "copy")
    assert archive.main(["export", file, "--store", str(filled.folder)]) == 0
    assert archive.main(["import", file, "--store", copy]) == 0
    assert capsys.readouterr().out == f"{file}: 3 replies\n{copy}: 3 new replies\n"
    assert archive.main(["import", str(tmp_path / "absent"), "--store", copy]) == 1
    assert "absent" in capsys.readouterr().err


def test_the_same_replies_give_the_same_bytes(filled: ResponseStore, ask: Ask, tmp_path: Path):
    other = fill(ResponseStore(tmp_path / "other"), ask, "ü\u2028", "b", "a")
    export_replies(filled, tmp_path / "1")
    export_replies(other, tmp_path / "2")
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda line: line["entry"]["request"].update(model="x"), "was made from"),
        (lambda line: line.update(key="../../etc/passwd"), "was made from"),
        (lambda line: line.pop("key"), "was made from"),
        (lambda line: line["entry"].pop("completion"), "not a stored reply"),
        (lambda line: line["entry"]["completion"].update(text=5), "not a stored reply"),
        (lambda line: line.update(entry=[]), "not a stored reply"),
        (lambda line: line["entry"].update(request="x"), "not a stored reply"),
        (lambda line: line["entry"]["completion"].update(finish="bogus"), "not a stored reply"),
        (lambda line: line["entry"]["completion"].update(prompt_tokens="3"), "not a stored"),
        (lambda line: line["entry"]["completion"].update(new_tokens=-1), "not a stored reply"),
        (lambda line: line["entry"]["completion"].update(new_tokens=True), "not a stored reply"),
        (lambda line: line["entry"]["completion"].update(model=None), "not a stored reply"),
        (lambda line: line["entry"]["completion"].update(text="\ud800"), "not a stored reply"),
        (lambda line: line["entry"].update(raw={"\udfff": 1}), "not a stored reply"),
    ],
)
def test_a_changed_archive_is_refused_as_a_whole(
    filled: ResponseStore, tmp_path: Path, change: Callable[[Any], Any], words: str
):
    file = tmp_path / "replies.jsonl"
    export_replies(filled, file)
    lines = [json.loads(line) for line in file.read_text("utf-8").split("\n")[:-1]]
    change(lines[1])
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    copy = ResponseStore(tmp_path / "copy")
    with pytest.raises(UserError, match=rf"replies.jsonl:2: .*{words}"):
        import_replies(file, copy)
    assert list(copy) == []


def test_a_stored_reply_is_never_replaced(filled: ResponseStore, ask: Ask, tmp_path: Path):
    file = tmp_path / "replies.jsonl"
    export_replies(filled, file)
    copy = ResponseStore(tmp_path / "copy")
    call = requests.call(ask("b"), Identity("local", "m"))
    copy.put(call, Completion(text="own", finish="stop"))
    with pytest.raises(UserError, match="holds another reply"):
        import_replies(file, copy)
    assert [copy.get(key).text for key in copy] == ["own"]


def test_two_lines_of_one_request_say_the_same(filled: ResponseStore, tmp_path: Path):
    file = tmp_path / "replies.jsonl"
    export_replies(filled, file)
    first = file.read_text("utf-8").split("\n")[0]
    file.write_text(first + "\n" + first, encoding="utf-8")
    assert import_replies(file, ResponseStore(tmp_path / "same")) == 1
    other = json.loads(first)
    other["entry"]["completion"]["text"] = "forged"
    file.write_text(first + "\n" + json.dumps(other), encoding="utf-8")
    copy = ResponseStore(tmp_path / "copy")
    with pytest.raises(UserError, match=r"replies.jsonl:2: another reply"):
        import_replies(file, copy)
    assert list(copy) == []


def test_a_line_that_is_nested_too_deeply_is_named(filled: ResponseStore, tmp_path: Path):
    depth = 100_000
    file = tmp_path / "replies.jsonl"
    export_replies(filled, file)
    first, second, *_ = file.read_text("utf-8").split("\n")
    deep = second.replace('{"id": "1"}', '{"id": ' + "[" * depth + "]" * depth + "}")
    file.write_text(first + "\n" + deep, encoding="utf-8")
    copy = ResponseStore(tmp_path / "copy")
    with pytest.raises(UserError, match=r"replies.jsonl:2: "):
        import_replies(file, copy)
    assert list(copy) == []


def test_places_that_cannot_be_written_are_named(
    filled: ResponseStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    # Root writes anywhere, but not into a file.
    blocked = tmp_path / "file"
    blocked.touch()
    assert archive.main(["export", str(blocked / "a"), "--store", str(filled.folder)]) == 1
    assert "cannot be written" in capsys.readouterr().err
    file = str(tmp_path / "replies.jsonl")
    assert archive.main(["export", file, "--store", str(filled.folder)]) == 0
    capsys.readouterr()
    copy = ResponseStore(tmp_path / "copy")
    last = list(filled)[-1]
    copy.folder.mkdir()
    (copy.folder / last[:2]).touch()
    assert archive.main(["import", file, "--store", str(copy.folder)]) == 1
    assert "cannot be written" in capsys.readouterr().err
    assert list(copy) == []
