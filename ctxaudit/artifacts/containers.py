"""Raw files of others, told apart by their first bytes and never by their names."""

import contextlib
import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from ctxaudit.errors import UserError

_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"

_ROWS_TOGETHER = 64
"""Rows that are Python objects at once; an article or a page has some hundred kilobytes."""


def files(path: str | Path) -> list[Path]:
    """The file itself, or all files directly in a folder, sorted by name, without hidden ones.

    Raises:
        UserError: if there is none.
    """
    place = Path(path)
    if not place.is_dir():
        return [place]
    found = sorted(f for f in place.iterdir() if f.is_file() and not f.name.startswith("."))
    if not found:
        raise UserError(f"{path}: the folder holds no file; put the raw files there")
    return found


def start_of(path: str | Path) -> bytes:
    """The first bytes of a file.

    Raises:
        UserError: if it cannot be read, or is a Git LFS pointer in place of the data.
    """
    try:
        with Path(path).open("rb") as stream:
            start = stream.read(len(_LFS_POINTER))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error}") from None
    if start == _LFS_POINTER:
        raise UserError(
            f"{path}: is a Git LFS pointer, not the data; run `git lfs pull` where it was cloned, "
            "or download the file itself"
        )
    return start


def is_parquet(path: str | Path) -> bool:
    """Whether a file is a parquet table."""
    return start_of(path).startswith(_PARQUET)


def is_gzip(path: str | Path) -> bool:
    """Whether a file is compressed by gzip."""
    return start_of(path).startswith(_GZIP)


@contextlib.contextmanager
def open_text(path: str | Path) -> Iterator[TextIO]:
    """A plain or gzipped UTF-8 file as text, line ends as they are, a byte order mark dropped.

    Raises:
        UserError: for what cannot be read, also if that shows in the middle of the file.
    """
    compressed = is_gzip(path)
    try:
        with gzip.open(path) if compressed else Path(path).open("rb") as raw:
            yield io.TextIOWrapper(cast("BinaryIO", raw), encoding="utf-8-sig", newline="")
    except UnicodeDecodeError:
        raise UserError(f"{path}: not UTF-8; save the file as UTF-8") from None
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path}: cannot be read: {error}") from None


def parquet_rows(path: str | Path) -> Iterator[dict[str, Any]]:
    """Rows of a parquet table, streamed; whole numbers stay exact, also beside nulls.

    Raises:
        UserError: naming a file that is not readable as parquet.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # With a buffer size, columns are read page by page and not as whole row groups.
        with pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as table:
            for batch in table.iter_batches(batch_size=_ROWS_TOGETHER):
                yield from batch.to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise UserError(f"{path}: not readable as parquet: {error}") from None
