"""Tables as parquet."""

from pathlib import Path

import pandas as pd

from ctxaudit.artifacts.writing import replacing


def read(path: str | Path) -> pd.DataFrame:
    """Any parquet table."""
    return pd.read_parquet(path)


def write(path: str | Path, table: pd.DataFrame) -> None:
    """Any table as parquet."""
    with replacing(path) as new:
        table.to_parquet(new, index=False)
