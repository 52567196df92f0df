import hashlib
import json

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaForCausalLM

from ctxaudit import models
from ctxaudit.config.models import FolderModel, GgufModel, PackageModel
from ctxaudit.errors import UserError
from tests.unit.tiny_models import save_llama, word_tokenizer

WORDS = ["<pad>", "<end>", *["a", "b", "c", "d", "e", "f", "g", "h"]]


@pytest.fixture
def folder(tmp_path):
    tokenizer = word_tokenizer(WORDS, unknown="<pad>", eos_token="<end>", pad_token="<pad>")
    save_llama(tmp_path / "source", tokenizer, max_position_embeddings=32)
    return tmp_path / "source"


@pytest.fixture
def manifest(folder, tmp_path):
    models.snapshot(FolderModel(kind="folder", path=str(folder)), tmp_path / "model")
    return tmp_path / "model" / "manifest.json"


def logits(network):
    with torch.no_grad():
        return network(torch.tensor([[2, 3, 4, 5]])).logits


def test_manifest_lists_every_other_file_with_its_size_and_digest(manifest):
    listed = {f["name"]: f for f in json.loads(manifest.read_text())["files"]}
    present = {p.name: p for p in manifest.parent.iterdir()} | {}
    assert listed.keys() == present.keys() - {"manifest.json"}
    for name, record in listed.items():
        content = present[name].read_bytes()
        assert record["size"] == len(content)
        assert record["sha256"] == hashlib.sha256(content).hexdigest()


def test_snapshot_loads_with_the_weights_of_its_source(manifest, folder):
    loaded = models.load(manifest, dtype="float32")
    assert torch.equal(logits(loaded.network), logits(LlamaForCausalLM.from_pretrained(folder)))
    assert loaded.max_tokens == 32
    assert not loaded.network.training
    assert not any(p.requires_grad for p in loaded.network.parameters())


def test_digest_is_stable_and_depends_on_weights_and_dtype(manifest, folder, tmp_path):
    again = tmp_path / "again"
    models.snapshot(FolderModel(kind="folder", path=str(folder)), again)
    first = models.load(manifest, dtype="float32")
    assert models.load(again / "manifest.json", dtype="float32").digest == first.digest
    assert models.load(manifest, dtype="bfloat16").digest != first.digest
    (folder / "generation_config.json").write_text('{"max_length": 7}')
    models.snapshot(FolderModel(kind="folder", path=str(folder)), again)
    assert models.load(again / "manifest.json", dtype="float32").digest != first.digest


def test_merged_adapter_computes_what_the_unmerged_one_does(manifest, tmp_path):
    network = models.load(manifest, dtype="float32").network
    plain = logits(network)
    adapted = get_peft_model(network, LoraConfig(r=2, target_modules=["q_proj", "down_proj"]))
    for name, parameter in adapted.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter)
    adapted.save_pretrained(tmp_path / "adapter")
    models.write_adapter_manifest(tmp_path / "adapter", origin={})
    loaded = models.load(manifest, dtype="float32", adapter=tmp_path / "adapter" / "manifest.json")
    # Merging reorders float32 sums; logits are of order 1.
    assert torch.allclose(logits(loaded.network), logits(adapted.eval()), atol=1e-5)
    assert not torch.allclose(logits(loaded.network), plain, atol=1e-2)
    assert loaded.digest != models.load(manifest, dtype="float32").digest


def test_a_folder_without_safetensors_is_refused_and_leaves_nothing(tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(UserError, match="no safetensors"):
        models.snapshot(FolderModel(kind="folder", path=str(tmp_path / "source")), tmp_path / "m")
    assert [p.name for p in tmp_path.iterdir()] == ["source"]


def test_python_files_are_never_copied(folder, tmp_path):
    (folder / "modeling_evil.py").write_text("raise SystemExit")
    models.snapshot(FolderModel(kind="folder", path=str(folder)), tmp_path / "model")
    assert not list((tmp_path / "model").rglob("*.py"))


def test_missing_folder_package_and_file_are_named(tmp_path):
    with pytest.raises(UserError, match="nowhere"):
        models.snapshot(FolderModel(kind="folder", path="nowhere"), tmp_path / "m")
    with pytest.raises(UserError, match="no_such_package"):
        models.snapshot(PackageModel(kind="package", package="no_such_package"), tmp_path / "m")
    missing = GgufModel(kind="gguf", package="json", file="no.gguf", sha256="0" * 64)
    with pytest.raises(UserError, match=r"no\.gguf"):
        models.convert(missing, tmp_path / "m")


def test_a_changed_gguf_file_is_refused_before_it_is_read(tmp_path):
    model = GgufModel(kind="gguf", package="json", file="decoder.py", sha256="0" * 64)
    with pytest.raises(UserError, match="SHA-256"):
        models.convert(model, tmp_path / "m")
