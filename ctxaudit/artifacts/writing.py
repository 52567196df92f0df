"""Files and folders that are there whole or not at all."""

import contextlib
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A temporary path in the same folder that becomes `path` if the block succeeds."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    new = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    try:
        yield new
        with new.open("rb") as stream:
            os.fsync(stream.fileno())
        new.replace(target)
    finally:
        new.unlink(missing_ok=True)


@contextlib.contextmanager
def replacing_folder(path: str | Path) -> Iterator[Path]:
    """The same for a folder; an older one is removed at the end."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    new = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
    new.mkdir()
    try:
        yield new
        if target.exists():
            shutil.rmtree(target)
        new.replace(target)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def write_json(path: str | Path, value: Any) -> None:
    """Any JSON document, keys sorted."""
    with replacing(path) as new:
        text = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False)
        new.write_text(text + "\n", encoding="utf-8")
