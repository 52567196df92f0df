from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import LlamaModel

from ctxaudit.config.overlap import Embedding
from ctxaudit.corpora import embedding
from ctxaudit.errors import UserError
from ctxaudit.interface import Passage
from tests.unit import tiny_models


def passage(text: str) -> Passage:
    return Passage(id=f"p/{text}", document="p", text=text, start=0, end=len(text), num_tokens=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with last-token pooling, saved with a tokenizer that pads right."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Normalize, Pooling, Transformer

    torch.manual_seed(0)
    base = tmp_path_factory.mktemp("base")
    LlamaModel(tiny_models.llama_config(num_hidden_layers=2)).save_pretrained(base)
    tiny_models.tokenizer(pad_token="</s>").save_pretrained(base)
    saved = tmp_path_factory.mktemp("embedder")
    transformer = Transformer(str(base), max_seq_length=12)
    pooling = Pooling(32, pooling_mode="lasttoken")
    SentenceTransformer(modules=[transformer, pooling, Normalize()], device="cpu").save(str(saved))
    return saved


def embedder(folder: Path, **settings: Any) -> embedding.Embedder:
    return embedding.load(folder / "manifest.json", Embedding(model="e", **settings))


def test_vectors_are_unit_and_do_not_depend_on_the_batch(folder: Path):
    texts = ["w5", "w7 w8 w9 w10", "w3 w4"]
    alone = embedder(folder, batch_size=1).embed_passages([passage(t) for t in texts])
    together = embedder(folder, batch_size=3).embed_passages([passage(t) for t in texts])
    assert together.dtype == np.float32
    # float32 sums in another order.
    np.testing.assert_allclose(together, alone, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)


def test_the_query_prompt_stands_before_the_query_and_not_before_a_passage(folder: Path):
    plain = embedder(folder).embed_passages([passage("w5"), passage("w9 w5")])
    with_prompt = embedder(folder, query_prompt="w9 ")
    np.testing.assert_allclose(with_prompt.embed_queries(["w5"]), plain[1:], atol=1e-5)
    np.testing.assert_allclose(with_prompt.embed_passages([passage("w5")]), plain[:1], atol=1e-5)


def test_what_exceeds_the_window_is_refused_and_not_cut(folder: Path):
    model = embedder(folder, query_prompt="w9 w9 ")
    long = " ".join(["w5"] * 13)
    with pytest.raises(UserError, match=r"passage p/w5.*13 tokens.*holds 12"):
        model.embed_passages([passage("w5"), passage(long)])
    with pytest.raises(UserError, match=r"query 'w5.*13 tokens"):
        model.embed_queries([" ".join(["w5"] * 11)])


class Scripted:
    """A sentence-transformers model of no window that records what it is told."""

    max_seq_length = None

    def encode_query(self, texts: Sequence[str], **options: Any) -> Any:
        self.options = options
        return np.ones((len(texts), 2))


def test_without_a_query_prompt_the_models_own_one_stays():
    model = Scripted()
    embedding.Embedder(model, Embedding(model="e")).embed_queries(["w5"])
    assert "prompt" not in model.options
