import warnings
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer
from transformers import PreTrainedTokenizerFast

from ctxaudit.config.overlap import Chunking
from ctxaudit.corpora import chunking
from ctxaudit.corpora.documents import Document


def byte_level() -> Any:
    backend = Tokenizer(BPE())
    backend.pre_tokenizer = ByteLevel(add_prefix_space=False)
    trainer = BpeTrainer(vocab_size=300, initial_alphabet=ByteLevel.alphabet(), show_progress=False)
    backend.train_from_iterator(["the grey oxen pull the ferry"], trainer)
    return PreTrainedTokenizerFast(tokenizer_object=backend, model_max_length=8)


TOKENIZER = byte_level()

settings_strategy = st.integers(2, 9).flatmap(
    lambda num: st.builds(
        lambda overlap: Chunking(tokenizer="t", num_tokens=num, overlap=overlap),
        st.integers(0, num - 1),
    )
)


def document(text: str) -> Document:
    return Document(id="d", corpus="retain", text=text)


@given(num=st.integers(1, 60), settings=settings_strategy)
def test_windows_cover_all_tokens_with_the_overlap_and_no_redundant_tail(
    num: int, settings: Chunking
):
    found = list(chunking.windows(num, settings))
    assert sorted({t for window in found for t in range(*window)}) == list(range(num))
    for (_, former_end), (start, end) in pairwise(found):
        assert former_end - start == settings.overlap
        assert end > former_end
    assert all(end - start == settings.num_tokens for start, end in found[:-1])
    assert 0 < found[-1][1] - found[-1][0] <= settings.num_tokens


@given(text=st.text("ab e\néß漢🙂", min_size=1, max_size=60), settings=settings_strategy)
def test_passages_are_slices_that_cover_every_letter(text: str, settings: Chunking):
    passages = chunking.chunk([document(text)], TOKENIZER, settings)
    covered = {at for p in passages for at in range(p.start, p.end)}
    assert all(at in covered for at, letter in enumerate(text) if not letter.isspace())
    for number, passage in enumerate(passages):
        assert passage.id == f"retain/d#{number}"
        assert passage.text == text[passage.start : passage.end]
        assert passage.text.strip()
        assert passage.num_tokens <= settings.num_tokens


def test_the_count_is_what_the_tokenizer_counts():
    text = "the grey oxen pull the ferry " * 9
    settings = Chunking(tokenizer="t", num_tokens=7, overlap=2)
    passages = chunking.chunk([document(text)], TOKENIZER, settings)
    ids = TOKENIZER(text, verbose=False).input_ids
    assert sum(p.num_tokens for p in passages) - 2 * (len(passages) - 1) == len(ids)


def test_a_long_document_is_tokenised_in_pieces_as_in_one(monkeypatch: pytest.MonkeyPatch):
    text = "the grey oxen pull the ferry\nacross " * 40
    whole = chunking.token_offsets(text, TOKENIZER)
    monkeypatch.setattr(chunking, "_PIECE_CHARACTERS", 50)
    assert chunking.token_offsets(text, TOKENIZER) == whole


def test_a_document_longer_than_the_window_of_the_model_raises_no_warning(
    caplog: pytest.LogCaptureFixture,
):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chunking.chunk(
            [document("grey oxen " * 99)],
            TOKENIZER,
            Chunking(tokenizer="t", num_tokens=5, overlap=1),
        )
    assert "longer than" not in caplog.text
