"""The store as one file, so that a run can be replayed without a key or a network.

JSON lines sorted by key: the same replies give the same bytes, whatever wrote them, and any tool
can read or compress them.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ctxaudit.artifacts import jsonl
from ctxaudit.errors import UserError
from ctxaudit.llm import requests
from ctxaudit.llm.store import FOLDER, ResponseStore, read


def export_replies(store: ResponseStore, path: str | Path) -> int:
    """Write every readable entry to `path`; returns their number.

    Raises:
        UserError: if it cannot be written.
    """
    num_written = 0

    def lines() -> Iterator[Mapping[str, Any]]:
        nonlocal num_written
        for key in store:
            entry = store.entry(key)
            if entry is not None and store.get(key) is not None:
                num_written += 1
                yield json.loads(requests.canonical({"key": key, "entry": entry}))

    try:
        jsonl.write(path, lines())
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror or error}") from None
    return num_written


def import_replies(path: str | Path, store: ResponseStore) -> int:
    """Add the entries of an archive that the store lacks; returns their number.

    Nothing is written unless the whole archive is sound.

    Raises:
        UserError: naming file and line of an entry that is not what its key says, or that differs
            from the store's own or another line's; or if the store cannot be written.
    """
    new: dict[str, str] = {}
    for number, line in jsonl.read(path):
        place = f"{path}:{number}"
        for key in _new_keys(line, store, place):
            said = requests.digest(requests.canonical(line["entry"]["completion"]))
            if new.setdefault(key, said) != said:
                raise UserError(
                    f"{place}: another reply to a request of an earlier line ({key}); remove the "
                    "one that is not wanted"
                )
    try:
        store.check_writable(new)
        for _, line in jsonl.read(path):
            if line["key"] in new:
                store.put_entry(line["key"], line["entry"])
    except OSError as error:
        raise UserError(f"{store.folder}: cannot be written: {error.strerror or error}") from None
    return len(new)


def _new_keys(line: Mapping[str, Any], store: ResponseStore, place: str) -> set[str]:
    """The key of an archive's line, if the store lacks it."""
    key, entry = str(line.get("key")), line.get("entry")
    if not isinstance(entry, dict) or not _is_whole(entry):
        raise UserError(f"{place}: not a stored reply; write the archive again from its store")
    if requests.digest(requests.canonical(entry["request"])) != key:
        raise UserError(
            f"{place}: the request is not the one that its key {key[:64]} was made from: the "
            "file was changed; write the archive again from its store"
        )
    own = store.entry(key)
    if own is None:
        return {key}
    if own.get("completion") != entry["completion"]:
        raise UserError(
            f"{place}: the store holds another reply to this request ({store.path(key)}); import "
            "into an empty store, or remove the one that is not wanted"
        )
    return set()


def _is_whole(entry: Mapping[str, Any]) -> bool:
    """Whether an entry holds a request and a reply, and can be written as the store writes it."""
    try:
        json.dumps(entry, indent=1, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return False
    return isinstance(entry.get("request"), dict) and read(entry) is not None


def main(arguments: Sequence[str] | None = None) -> int:
    """`python -m ctxaudit.llm.archive export|import FILE`; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["export", "import"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--store", type=Path, default=FOLDER, help="default: %(default)s")
    asked = parser.parse_args(arguments)
    store = ResponseStore(asked.store)
    try:
        if asked.what == "export":
            print(f"{asked.file}: {export_replies(store, asked.file)} replies")
        else:
            print(f"{asked.store}: {import_replies(asked.file, store)} new replies")
    except UserError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
