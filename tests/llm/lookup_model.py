"""A causal language model whose next word depends on the last one alone, by a table.

It runs as any other (weights, tokenizer, chat template), but what it says is known beforehand.
"""

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import LlamaConfig, PreTrainedTokenizerFast
from transformers.models.llama import LlamaForCausalLM

END = "</s>"
NEXT = {"near": "9", "far": "2", "mute": END, "endless": "on", "on": "on"}
"""All other words are followed by the end."""


def save(folder: Path) -> None:
    """Write it as a model folder."""
    words = [END, "unknown", *sorted({*NEXT, *NEXT.values()} - {END})]
    network(words).save_pretrained(folder)
    tokenizer(words).save_pretrained(folder)


def network(words: list[str]) -> Any:
    size = len(words)
    config = LlamaConfig(
        vocab_size=size,
        hidden_size=size + size % 2,
        intermediate_size=4,
        num_hidden_layers=1,
        num_attention_heads=1,
        tie_word_embeddings=False,
        eos_token_id=0,
        bos_token_id=None,
        pad_token_id=0,
    )
    model = LlamaForCausalLM(config).eval()
    with torch.no_grad():
        # The block adds nothing, so that the last word's own unit vector reaches the head.
        model.model.layers[0].self_attn.o_proj.weight.zero_()
        model.model.layers[0].mlp.down_proj.weight.zero_()
        model.model.embed_tokens.weight.copy_(torch.eye(size, config.hidden_size))
        model.lm_head.weight.zero_()
        for at, word in enumerate(words):
            model.lm_head.weight[words.index(NEXT.get(word, END)), at] = 1.0
    return model


def tokenizer(words: list[str]) -> Any:
    numbers = {word: at for at, word in enumerate(words)}
    backend = Tokenizer(WordLevel(numbers, unk_token="unknown"))
    backend.pre_tokenizer = WhitespaceSplit()
    made = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token=END, pad_token=END)
    made.chat_template = "{% for m in messages %}{{ m.content }} {% endfor %}"
    return made
