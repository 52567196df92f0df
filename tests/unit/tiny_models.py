"""Random transformers of a few thousand weights, built from a config: nothing is downloaded."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import (
    GPTNeoXConfig,
    GptOssConfig,
    LlamaConfig,
    PreTrainedTokenizerFast,
)
from transformers.models.gpt_neox import GPTNeoXForCausalLM
from transformers.models.gpt_oss import GptOssForCausalLM
from transformers.models.llama import LlamaForCausalLM

from ctxaudit.models import LanguageModel

VOCABULARY = 96
WINDOW = 64
_SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "max_position_embeddings": WINDOW,
    "eos_token_id": 0,
    "bos_token_id": None,
    "pad_token_id": None,
}


def word_tokenizer(words: Sequence[str], *, unknown: str, **special: str) -> Any:
    """Words between blanks, numbered in their order; `special` as `eos_token="</s>"`."""
    numbers = {word: number for number, word in enumerate(words)}
    backend = Tokenizer(WordLevel(numbers, unk_token=unknown))
    backend.pre_tokenizer = WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=backend, **special)


def tokenizer(**special: str) -> Any:
    words = ["</s>", *(f"w{number}" for number in range(1, VOCABULARY))]
    return word_tokenizer(words, unknown="w1", eos_token="</s>", **special)


def llama_config(**changes: Any) -> LlamaConfig:
    return LlamaConfig(**{**_SIZES, "num_key_value_heads": 2, **changes})


def save_llama(folder: Path, tokenizer: Any, **changes: Any) -> None:
    """A random Llama and its tokenizer as a model folder."""
    torch.manual_seed(0)
    config = llama_config(
        vocab_size=len(tokenizer),
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        **changes,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def llama() -> LanguageModel:
    return _wrap(LlamaForCausalLM, llama_config())


def gpt_neox() -> LanguageModel:
    return _wrap(GPTNeoXForCausalLM, GPTNeoXConfig(**_SIZES))


def gpt_oss() -> LanguageModel:
    config = GptOssConfig(
        **_SIZES, num_key_value_heads=2, head_dim=8, num_local_experts=2, num_experts_per_tok=1
    )
    return _wrap(GptOssForCausalLM, config)


def prompts(*lengths: int, seed: int = 0) -> list[list[int]]:
    draw = torch.Generator().manual_seed(seed)
    return [torch.randint(1, VOCABULARY, (n,), generator=draw).tolist() for n in lengths]


def _wrap(kind: Any, config: Any) -> LanguageModel:
    torch.manual_seed(0)
    network = kind(config).eval()
    with torch.no_grad():
        for weight in network.parameters():
            # The initial scale of 0.02 makes every continuation a constant repetition.
            weight.copy_(torch.randn_like(weight) * 0.2 if weight.dim() > 1 else weight)
    return LanguageModel(lambda: network, tokenizer(), digest="tiny", max_tokens=WINDOW)
