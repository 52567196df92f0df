"""Passages and queries → unit vectors, by a sentence-transformers model of a local folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ctxaudit.config.overlap import Embedding
from ctxaudit.errors import UserError
from ctxaudit.interface import Passage
from ctxaudit.logs import logger

Embeddings = npt.NDArray[np.float32]
"""(N, D), rows of length 1."""


class Embedder:
    """A sentence-transformers model with its query prompt.

    Args:
        model: The `SentenceTransformer`.
        settings: Query prompt and batch size.
    """

    def __init__(self, model: Any, settings: Embedding) -> None:
        self._model = model
        self._settings = settings

    def embed_passages(self, passages: Sequence[Passage]) -> Embeddings:
        """(N, D) embeddings.

        Raises:
            UserError: naming the first passage that exceeds the model's window; none is cut.
        """
        texts = [passage.text for passage in passages]
        self._check_fit(texts, [f"passage {passage.id}" for passage in passages])
        logger.info("embedding %d passages", len(texts))
        return _units(self._model.encode_document(texts, **self._options()))

    def embed_queries(self, queries: Sequence[str]) -> Embeddings:
        """(Q, D) embeddings, each query after the query prompt.

        Raises:
            UserError: naming the first query that exceeds the model's window with its prompt.
        """
        prompt = self._settings.query_prompt
        self._check_fit(
            [prompt + query for query in queries], [f"query {q!r:.80}" for q in queries]
        )
        # An empty prompt given here would silence the model's own one.
        own = {"prompt": prompt} if prompt else {}
        return _units(self._model.encode_query(list(queries), **own, **self._options()))

    def _options(self) -> dict[str, Any]:
        return {
            "batch_size": self._settings.batch_size,
            "normalize_embeddings": True,
            "convert_to_numpy": True,
            "show_progress_bar": False,
        }

    def _check_fit(self, texts: Sequence[str], names: Sequence[str]) -> None:
        limit = self._model.max_seq_length
        if limit is None:
            return
        for text, name in zip(texts, names, strict=True):
            length = len(self._model.tokenizer(text, truncation=False, verbose=False).input_ids)
            if length > limit:
                raise UserError(
                    f"{name}: {length} tokens of the embedding model, whose window holds {limit}; "
                    "lower overlap.chunking.num_tokens or choose a model with a longer window"
                )


def load(manifest: str | Path, settings: Embedding) -> Embedder:
    """Load the embedder whose folder the manifest lies in; nothing is downloaded.

    Last-token pooling (Qwen3-Embedding) takes the last position, so its tokenizer pads left.
    """
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(
        str(Path(manifest).parent), local_files_only=True, trust_remote_code=False
    )
    if any(getattr(module, "pooling_mode_lasttoken", False) for module in model):
        model.tokenizer.padding_side = "left"
    return Embedder(model, settings)


def _units(vectors: Any) -> Embeddings:
    return np.ascontiguousarray(vectors, dtype=np.float32)
