"""Language models by manifest: convert, fetch, verify, load. Nothing is downloaded at import.

A manifest names a model folder and every file in it with size and SHA-256; rules depend on the
manifest, never on a bare folder. Weights are safetensors; no remote code is ever run.
"""

import hashlib
import importlib.util
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import torch
from tokenizers.pre_tokenizers import ByteLevel, Digits
from tokenizers.pre_tokenizers import Sequence as PreTokenizers
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from ctxaudit.artifacts import writing
from ctxaudit.config.models import FolderModel, GgufModel, HubModel, PackageModel
from ctxaudit.config.section import DType
from ctxaudit.errors import UserError
from ctxaudit.memory import PassLimit, pass_limit


@dataclass(frozen=True)
class LanguageModel:
    """A causal language model ready to run.

    Attributes:
        load_network: Loads the transformer, in evaluation mode.
        tokenizer: Its tokenizer.
        digest: Identifies weights, adapter and dtype; part of every score's key.
        max_tokens: Length of its window.
    """

    load_network: Callable[[], Any]
    tokenizer: Any
    digest: str
    max_tokens: int

    @cached_property
    def network(self) -> Any:
        """The transformer, loaded when first asked for: what is stored needs no weights."""
        return self.load_network()

    @cached_property
    def pass_limit(self) -> PassLimit:
        """How many tokens one forward pass may hold; what was found too many is remembered."""
        return pass_limit(self.network)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return torch.device(self.network.device)


def convert(model: GgufModel, folder: Path) -> None:
    """Dequantise a package's GGUF file once into a safetensors folder with its manifest."""
    source = _package_folder(model.package) / model.file
    if not source.is_file():
        raise UserError(f"{source}: the package {model.package} has no such file")
    found = file_digest(source)
    if found != model.sha256:
        raise UserError(f"{source}: SHA-256 is {found}, the configuration pins {model.sha256}")
    network = AutoModelForCausalLM.from_pretrained(
        source.parent, gguf_file=source.name, dtype=torch.float32
    )
    # transformers marks every GGUF model as quantised and refuses to save it, although its
    # weights are plain float32 after loading.
    del network.config.quantization_config
    network.hf_quantizer = None
    network.is_quantized = False
    tokenizer = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
    if model.digit_split:
        tokenizer.backend_tokenizer.pre_tokenizer = PreTokenizers(
            [Digits(individual_digits=True), ByteLevel(add_prefix_space=False, trim_offsets=True)]
        )
    with writing.replacing_folder(folder) as new:
        network.save_pretrained(new)
        tokenizer.save_pretrained(new)
        _write_manifest(new, new.iterdir(), origin={**model.model_dump(), "source": source.name})


def snapshot(model: PackageModel | FolderModel | HubModel, folder: Path) -> None:
    """Copy or fetch a model folder and write its manifest."""
    with writing.replacing_folder(folder) as new:
        if isinstance(model, HubModel):
            from huggingface_hub import snapshot_download

            snapshot_download(
                model.id,
                revision=model.revision,
                local_dir=new,
                ignore_patterns=["*.bin", "*.pt", "*.pth", "*.py", "*.gguf", "*.onnx", "*.h5"],
            )
            shutil.rmtree(new / ".cache", ignore_errors=True)
        else:
            source = _source_folder(model)
            shutil.copytree(
                source,
                new,
                dirs_exist_ok=True,
                ignore=shutil.ignore_patterns("*.py*", "__pycache__"),
            )
        files = [path for path in new.rglob("*") if path.is_file()]
        if not any(path.suffix == ".safetensors" for path in files):
            raise UserError(f"{model.model_dump()}: the model folder has no safetensors file")
        _write_manifest(new, files, origin=model.model_dump())


def load(manifest: str | Path, *, dtype: DType, adapter: str | Path | None = None) -> LanguageModel:
    """Load a causal model, with a LoRA adapter merged in where one is given.

    Args:
        manifest: `manifest.json` of the model folder.
        dtype: Precision of the weights.
        adapter: `manifest.json` of an adapter folder.
    """
    path = Path(manifest)
    parts = [manifest_digest(path), dtype]
    if adapter is not None:
        parts.append(manifest_digest(Path(adapter)))
    config = AutoConfig.from_pretrained(path.parent).get_text_config()
    return LanguageModel(
        load_network=partial(_load_network, path.parent, dtype=dtype, adapter=adapter),
        tokenizer=load_tokenizer(path),
        digest=hashlib.sha256("\n".join(parts).encode()).hexdigest(),
        max_tokens=config.max_position_embeddings,
    )


def _load_network(folder: Path, *, dtype: DType, adapter: str | Path | None) -> Any:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    network = AutoModelForCausalLM.from_pretrained(
        folder, dtype=getattr(torch, dtype), use_safetensors=True
    ).to(device)
    if adapter is not None:
        from peft import PeftModel

        network = PeftModel.from_pretrained(network, Path(adapter).parent).merge_and_unload()
    return network.eval().requires_grad_(requires_grad=False)


def load_tokenizer(manifest: str | Path) -> Any:
    """The tokenizer of a model folder."""
    return AutoTokenizer.from_pretrained(Path(manifest).parent)


def manifest_digest(manifest: Path) -> str:
    """Digest of a model folder's content, as its manifest records it."""
    return str(json.loads(manifest.read_text(encoding="utf-8"))["digest"])


def write_adapter_manifest(folder: Path, *, origin: dict[str, Any]) -> None:
    """Write the manifest of an adapter folder that was just saved."""
    _write_manifest(folder, [p for p in folder.rglob("*") if p.is_file()], origin=origin)


def file_digest(path: Path) -> str:
    """SHA-256 of a file, read in blocks."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _write_manifest(folder: Path, files: Any, *, origin: dict[str, Any]) -> None:
    listed = [
        {"name": str(p.relative_to(folder)), "size": p.stat().st_size, "sha256": file_digest(p)}
        for p in sorted(files)
        if p.name != "manifest.json"
    ]
    digest = hashlib.sha256(json.dumps(listed, sort_keys=True).encode()).hexdigest()
    writing.write_json(
        folder / "manifest.json", {"origin": origin, "digest": digest, "files": listed}
    )


def _package_folder(package: str) -> Path:
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise UserError(f"the Python package {package} is not installed; see requirements.lock")
    return Path(found.submodule_search_locations[0])


def _source_folder(model: PackageModel | FolderModel) -> Path:
    folder = (
        _package_folder(model.package) / model.folder
        if isinstance(model, PackageModel)
        else Path(model.path)
    )
    if not folder.is_dir():
        raise UserError(f"{folder}: no such model folder")
    return folder
