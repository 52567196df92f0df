"""The vector index of a corpus: exact inner product over unit vectors, which is their cosine."""

from pathlib import Path
from typing import Any

import faiss

from ctxaudit.artifacts import writing
from ctxaudit.corpora.embedding import Embeddings
from ctxaudit.errors import UserError


def build(embeddings: Embeddings) -> Any:
    """A flat index over (N, D) unit vectors, in their order."""
    index = faiss.IndexFlatIP(embeddings.shape[1])
    index.add(embeddings)
    return index


def write(path: str | Path, index: Any) -> None:
    """Write an index, whole or not at all."""
    with writing.replacing(path) as new:
        faiss.write_index(index, str(new))


def read(path: str | Path) -> Any:
    """Read an index; UserError if it is not one."""
    try:
        return faiss.read_index(str(path))
    except RuntimeError:
        raise UserError(f"{path}: not readable as a FAISS index; delete it and run again") from None
