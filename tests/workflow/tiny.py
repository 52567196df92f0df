"""A whole project in small: random models built from a config and a cut of the demo's inputs."""

import json
import shutil
from pathlib import Path
from typing import Any

import torch
import yaml
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer
from transformers import (
    BertConfig,
    BertModel,
    PreTrainedTokenizerFast,
)

from tests.unit.tiny_models import save_llama

ROOT = Path(__file__).parents[2]

CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def build_tokenizer(texts: list[str]) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer with chat tokens, trained on the texts given."""
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    tokenizer.decoder = ByteLevelDecoder()
    trainer = BpeTrainer(
        vocab_size=800,
        special_tokens=["<|im_start|>", "<|im_end|>"],
        initial_alphabet=ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        pad_token="<|im_end|>",
        chat_template=CHAT_TEMPLATE,
    )


def build_language_model(folder: Path, tokenizer: PreTrainedTokenizerFast) -> None:
    """A random two-layer Llama."""
    save_llama(folder, tokenizer, num_hidden_layers=2, max_position_embeddings=2048)


def build_embedder(folder: Path, tokenizer: PreTrainedTokenizerFast) -> None:
    """A random two-layer BERT with mean pooling."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Normalize, Pooling, Transformer

    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=512,
    )
    plain = folder.with_name("bert")
    BertModel(config).save_pretrained(plain)
    tokenizer.save_pretrained(plain)
    transformer = Transformer(str(plain))
    SentenceTransformer(modules=[transformer, Pooling(32), Normalize()]).save(str(folder))


def build_project(folder: Path, *, num_questions: int = 3, num_instances: int = 6) -> Path:
    """Write models, inputs and configuration; returns the configuration's path."""
    raw: dict[str, Any] = yaml.safe_load((ROOT / "config/config.yaml").read_text("utf-8"))
    corpora = {name: _lines(path) for name, path in raw["overlap"]["corpora"].items()}
    tokenizer = build_tokenizer(["\n".join(lines) for lines in corpora.values()])
    build_language_model(folder / "models/llama", tokenizer)
    build_embedder(folder / "models/embedder", tokenizer)
    raw["models"] = {
        "smollm2": {"kind": "folder", "path": str(folder / "models/llama")},
        "minilm": {"kind": "folder", "path": str(folder / "models/embedder")},
    }
    _cut_overlap(raw["overlap"], corpora, folder, num_questions)
    _cut_conflict(raw["conflict"], folder, num_instances)
    raw["planning"] = {}
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(raw), encoding="utf-8")
    return path


def _cut_overlap(
    overlap: dict[str, Any], corpora: dict[str, list[str]], folder: Path, num_questions: int
) -> None:
    for name, lines in corpora.items():
        overlap["corpora"][name] = _write(folder / f"{name}.jsonl", lines[:16])
    demo = overlap["datasets"]["demo"]
    demo["path"] = _write(folder / "questions.jsonl", _lines(demo["path"])[:num_questions])
    overlap["finetuning"].update(num_epochs=1, precision="float32", min_gain=-1.0)
    for section in ("reranking", "smoothing", "answering"):
        overlap[section]["prompt"] = str(ROOT / overlap[section]["prompt"])


def _cut_conflict(conflict: dict[str, Any], folder: Path, num_instances: int) -> None:
    # One type of each task family: the others run the same rules.
    chosen = {name: conflict["instances"][name] for name in ("misinformation", "perspective")}
    conflict["instances"] = {}
    for name, path in chosen.items():
        copied = folder / "instances" / name
        copied.mkdir(parents=True)
        files = sorted((ROOT / path).glob("*.json"), key=lambda file: int(file.stem))
        for file in files[:num_instances]:
            shutil.copy(file, copied)
        conflict["instances"][name] = str(copied)
    conflict["generation"].update(num_per_type=2, max_new_tokens=6)
    conflict["steering"]["schedules"] = ["all_tokens"]
    conflict["probing"]["num_folds"] = 3
    conflict["balance"]["prompt"] = str(ROOT / conflict["balance"]["prompt"])
    conflict["prompts"] = {name: str(ROOT / path) for name, path in conflict["prompts"].items()}


def _lines(path: str) -> list[str]:
    return (ROOT / path).read_text(encoding="utf-8").splitlines()


def _write(path: Path, lines: list[str]) -> str:
    for line in lines:
        json.loads(line)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)
