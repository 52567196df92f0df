"""Files that the configuration names: are they there, and are they text? Asked before any job."""

import codecs
import os
from pathlib import Path

from ctxaudit.artifacts import containers
from ctxaudit.errors import UserError

_LOOKED_AT = 1 << 20
"""Bytes; reading a whole corpus on every start would cost more than the fault."""


def check_text_file(path: str, *, key: str) -> str:
    """The path, if it is a readable file that begins as UTF-8.

    Args:
        path: A file, absolute or relative to the work directory.
        key: The configuration's key that names it.

    Raises:
        UserError: with key, path and what to do.
    """
    try:
        with Path(path).open("rb") as stream:
            start = stream.read(_LOOKED_AT)
    except OSError as error:
        raise UserError(f"{key}: {path}: {_reason(error)}; {_advice(path)}") from None
    try:
        # A character may be cut by the end of what was read.
        codecs.getincrementaldecoder("utf-8")().decode(start, final=len(start) < _LOOKED_AT)
    except UnicodeDecodeError as error:
        line = start[: error.start].count(b"\n") + 1
        raise UserError(f"{key}: {path}:{line}: not UTF-8; save the file as UTF-8") from None
    return path


def find_raw_files(path: str, *, key: str) -> list[str]:
    """The file itself, or all visible files at any depth of a folder, sorted by path.

    Args:
        path: A file or folder, absolute or relative to the work directory.
        key: The configuration's key that names it.

    Raises:
        UserError: with key, path and what to do, also for text that does not begin as UTF-8, a
            Git LFS pointer in place of data, or a folder without a file.
    """
    if not Path(path).is_dir():
        return [_check_raw_file(path, key=key)]
    found = sorted(
        str(Path(folder) / name)
        for folder, _, names in os.walk(path)
        for name in names
        if not name.startswith(".")
    )
    if not found:
        raise UserError(f"{key}: {path}: holds no file; put the raw files there, or change the key")
    return found


def find_json_files(folder: str, *, key: str) -> list[str]:
    """The JSON files of a folder, sorted by path.

    Args:
        folder: A folder, absolute or relative to the work directory.
        key: The configuration's key that names it.

    Raises:
        UserError: with key, path and what to do, also if there is no such file in it.
    """
    try:
        names = [entry.name for entry in os.scandir(folder) if entry.name.endswith(".json")]
    except OSError as error:
        raise UserError(f"{key}: {folder}: {_reason(error)}; {_advice(folder)}") from None
    if not names:
        raise UserError(
            f"{key}: {folder}: holds no file *.json; put the instances there, one file each, or "
            "change the key"
        )
    return [str(Path(folder) / name) for name in sorted(names)]


def _check_raw_file(path: str, *, key: str) -> str:
    try:
        if Path(path).is_file() and (containers.is_parquet(path) or containers.is_gzip(path)):
            return path
    except UserError as error:
        raise UserError(f"{key}: {error}") from None
    return check_text_file(path, key=key)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _advice(path: str) -> str:
    here = "" if Path(path).is_absolute() else f" (relative paths are taken from {Path.cwd()})"
    return f"put it there, make it readable, or change the key{here}"
