"""A dataset cut into shards, a job each, so that a cluster takes them side by side."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import pyarrow.parquet as pq

from ctxaudit.artifacts.writing import replacing

Item = TypeVar("Item")


def names(num_shards: int) -> list[str]:
    """Names of the shards in the order of what they hold: `1-of-3`, `2-of-3`, `3-of-3`."""
    return [f"{number}-of-{num_shards}" for number in range(1, num_shards + 1)]


def take(items: Sequence[Item], shard: str) -> list[Item]:
    """The consecutive items of one shard; shards differ in size by one item at the most."""
    number, num_shards = map(int, shard.split("-of-"))
    first, last = (part * len(items) // num_shards for part in (number - 1, number))
    return list(items[first:last])


def gather(shards: Sequence[str | Path], path: str | Path) -> None:
    """Put parquet or JSONL files of one form together, in their order, bounded in memory.

    A shard that holds nothing keeps no types; it adds no rows.
    """
    with replacing(path) as new:
        if Path(path).suffix == ".jsonl":
            with new.open("wb") as whole:
                for shard in shards:
                    with Path(shard).open("rb") as part:
                        shutil.copyfileobj(part, whole)
        else:
            _gather_parquet(list(map(Path, shards)), new)


def _gather_parquet(shards: Sequence[Path], path: Path) -> None:
    files = [pq.ParquetFile(shard) for shard in shards]
    filled = [file for file in files if file.metadata.num_rows] or files[:1]
    with pq.ParquetWriter(path, filled[0].schema_arrow) as writer:
        for file in filled:
            for batch in file.iter_batches():
                writer.write_batch(batch)
