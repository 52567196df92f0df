"""Content-addressed scores that outlive jobs: losing the store costs time, never a result.

A score is found by SHA-256 over scorer digest, prompt ids and response ids. Each writer appends
whole parquet segments under names of its own, so any number of jobs may share one folder.
"""

import hashlib
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from ctxaudit.artifacts import writing
from ctxaudit.errors import UserError
from ctxaudit.logs import logger

LogProbs = npt.NDArray[np.float32]

_SCHEMA = pa.schema([("key", pa.binary(32)), ("logprobs", pa.list_(pa.float32()))])
_MAX_PENDING = 4096
_MAX_SECONDS = 20.0


class ScoreStore:
    """Log-probabilities per response token of one scorer, in nats.

    Use it as a context manager: entering reads the segments that are there, leaving writes what
    is pending. `put` writes a segment by itself after a bounded number of entries or seconds.
    """

    def __init__(self, folder: Path, scorer: str) -> None:
        self._scorer = scorer
        self._folder = Path(folder) / scorer[:16]
        self._rows: dict[bytes, int] = {}
        self._flat: LogProbs = np.empty(0, dtype=np.float32)
        self._offsets: npt.NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        self._pending: dict[bytes, LogProbs] = {}
        self._written: dict[bytes, LogProbs] = {}
        self._last_flush = time.monotonic()

    def __enter__(self) -> Self:
        """Read every readable segment of this scorer."""
        tables = [
            table
            for path in sorted(self._folder.glob("[!.]*.parquet"))
            if (table := _read_segment(path)) is not None
        ]
        if tables:
            self._load(pa.concat_tables(tables))
        self._last_flush = time.monotonic()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Write what is pending, also after an error: scores that were paid for stay."""
        try:
            self.flush()
        except UserError:
            # The error that ends the block is the one to show.
            if error is None:
                raise

    def key(self, prompt: Sequence[int], response: Sequence[int]) -> bytes:
        """The address of a score: 32 bytes over scorer, prompt ids and response ids."""
        digest = hashlib.sha256(self._scorer.encode())
        digest.update(len(prompt).to_bytes(8, "little"))
        digest.update(np.asarray([*prompt, *response], dtype="<i8").tobytes())
        return digest.digest()

    def get(self, keys: Sequence[bytes]) -> list[LogProbs | None]:
        """The log-probabilities under each key, None where the store has none."""
        return [self._find(key) for key in keys]

    def put(self, key: bytes, logprobs: LogProbs) -> None:
        """Add a score; it is on disk after the next flush."""
        self._pending[key] = np.asarray(logprobs, dtype=np.float32)
        waited = time.monotonic() - self._last_flush
        if len(self._pending) >= _MAX_PENDING or waited > _MAX_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write what is pending as one new segment."""
        self._last_flush = time.monotonic()
        if not self._pending:
            return
        columns = [pa.array(list(self._pending), _SCHEMA.types[0])]
        columns.append(pa.array(list(self._pending.values()), _SCHEMA.types[1]))
        table = pa.Table.from_arrays(columns, schema=_SCHEMA)
        try:
            with writing.replacing(self._folder / f"{uuid.uuid4().hex}.parquet") as new:
                pq.write_table(table, new)
        except OSError as fault:
            raise UserError(
                f"{self._folder}: scores cannot be written: {fault.strerror or fault}; make room "
                "there and run again, what was written before is kept"
            ) from None
        self._written.update(self._pending)
        self._pending.clear()

    def _find(self, key: bytes) -> LogProbs | None:
        row = self._rows.get(key)
        if row is not None:
            return self._flat[self._offsets[row] : self._offsets[row + 1]]
        found = self._pending.get(key)
        return found if found is not None else self._written.get(key)

    def _load(self, table: Any) -> None:
        lists = table.column("logprobs").combine_chunks()
        keys = table.column("key").to_pylist()
        self._flat = lists.flatten().to_numpy(zero_copy_only=False)
        self._offsets = np.concatenate([[0], np.cumsum(lists.value_lengths().to_numpy())])
        self._rows = dict(zip(keys, range(len(keys)), strict=True))


def _read_segment(path: Path) -> Any:
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        logger.warning("%s: skipped, not a readable segment of the score store: %s", path, error)
        return None
    if not table.schema.equals(_SCHEMA) or any(c.null_count for c in table.columns):
        logger.warning("%s: skipped, not a segment of the score store", path)
        return None
    return table
