import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def sample() -> Callable[[str], str]:
    """Path of a file or folder of real records; the test is skipped where there is none."""

    def find(name: str) -> str:
        folder = os.environ.get("CTXAUDIT_SAMPLES")
        if not folder:
            pytest.skip("CTXAUDIT_SAMPLES names no folder with real records")
        if not (Path(folder) / name).exists():
            pytest.skip(f"CTXAUDIT_SAMPLES holds no {name}")
        return str(Path(folder) / name)

    return find


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    """Write one JSON value, or lines of them, under an invented name; the path."""

    def write_values(*values: Any, name: str = "raw.json") -> str:
        path = tmp_path / name
        path.write_text("\n".join(map(json.dumps, values)), encoding="utf-8")
        return str(path)

    return write_values
