"""LoRA fine-tuning of a causal language model on plain documents (Hu et al., 2022).

What a model is trained on becomes its in-weight knowledge; nothing but the corpus is shown to it.
"""

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from peft import LoraConfig, get_peft_model
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader
from transformers import get_linear_schedule_with_warmup

from ctxaudit import models
from ctxaudit.artifacts import writing
from ctxaudit.config.overlap import FineTuning
from ctxaudit.errors import UserError
from ctxaudit.logs import logger, progress

ALL_LINEAR = "all-linear"
_IGNORED = -100


def finetune(
    texts: Sequence[str],
    *,
    model: Path,
    settings: FineTuning,
    modules: Sequence[str],
    seed: int,
    folder: Path,
) -> list[float]:
    """Train an adapter on the documents and save it with its manifest.

    The same seed gives the same adapter on the same machine and number of threads.

    Args:
        texts: The documents.
        model: `manifest.json` of the base model, which stays as it is.
        settings: The recipe.
        modules: Names of the linear layers to adapt, or `["all-linear"]`.
        seed: Fixes the adapter's initialisation and the order of the documents.
        folder: Where the adapter goes; an older one is replaced.

    Returns:
        Mean loss per predicted token of each epoch, nats.

    Raises:
        UserError: before training, for no documents, a document without tokens to predict,
            unknown modules or a block longer than the model's window; after an epoch, if the
            loss is no longer finite.
    """
    blocks = token_blocks(texts, models.load_tokenizer(model), settings.max_tokens)
    base = models.load(model, dtype="float32")
    if settings.max_tokens > base.max_tokens:
        raise UserError(
            f"finetuning.max_tokens: {settings.max_tokens} is more than the model's window of "
            f"{base.max_tokens} tokens"
        )
    check_modules(base.network, modules)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        adapted = adapt(base.network, settings, modules)
        losses = _train(adapted, blocks, settings, seed=seed)
    origin = {
        "base": models.manifest_digest(model),
        "settings": settings.model_dump(mode="json"),
        "modules": list(modules),
        "seed": seed,
        "losses": losses,
    }
    _save(adapted, folder, origin)
    return losses


def token_blocks(texts: Sequence[str], tokenizer: Any, max_tokens: int) -> list[torch.Tensor]:
    """Token ids of the documents, longer ones cut into blocks of at most `max_tokens`.

    Neighbouring blocks share one token, so that each token of a document but its first is
    predicted exactly once. No end token is added: a fact must not be tied to ending a turn.
    """
    if not texts:
        raise UserError("fine-tuning: the corpus holds no documents")
    blocks = []
    for number, text in enumerate(texts, start=1):
        ids = torch.tensor(tokenizer(text).input_ids, dtype=torch.long)
        if len(ids) < 2:
            raise UserError(
                f"fine-tuning: document {number} of {len(texts)} has {len(ids)} tokens; "
                "at least 2 are needed to predict one from the other"
            )
        step = max_tokens - 1
        blocks += [ids[start : start + max_tokens] for start in range(0, len(ids) - 1, step)]
    return blocks


def check_modules(network: Any, modules: Sequence[str]) -> None:
    """Raise a UserError unless every name is a linear layer of the network's blocks."""
    head = network.get_output_embeddings()
    known = {
        name.rsplit(".", 1)[-1]
        for name, module in network.named_modules()
        if isinstance(module, torch.nn.Linear) and module is not head
    }
    unknown = sorted(set(modules) - known)
    if (unknown and list(modules) != [ALL_LINEAR]) or not modules:
        raise UserError(
            f"finetuning.modules: {', '.join(unknown) or 'an empty list'} cannot be adapted; "
            f"allowed: {', '.join(sorted(known))}, or ['{ALL_LINEAR}'] alone"
        )


def adapt(network: Any, settings: FineTuning, modules: Sequence[str]) -> Any:
    """The network with a fresh adapter, of which alone the parameters are trainable.

    Draws from torch's global generator.
    """
    config = LoraConfig(
        task_type="CAUSAL_LM",
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=0.0,
        target_modules=ALL_LINEAR if list(modules) == [ALL_LINEAR] else list(modules),
    )
    return get_peft_model(network, config)


def pad_batch(blocks: Sequence[torch.Tensor], *, pad_id: int) -> dict[str, torch.Tensor]:
    """Pad blocks on the right; padding is masked by position, since its id may be a real token.

    Returns:
        `input_ids`, `attention_mask` and `labels`, each (B, T).
    """
    lengths = torch.tensor([len(block) for block in blocks])
    ids = pad_sequence(list(blocks), batch_first=True, padding_value=pad_id)
    mask = torch.arange(ids.shape[1]) < lengths[:, None]
    return {
        "input_ids": ids,
        "attention_mask": mask.long(),
        "labels": ids.masked_fill(~mask, _IGNORED),
    }


def _train(
    network: Any, blocks: list[torch.Tensor], settings: FineTuning, *, seed: int
) -> list[float]:
    accelerator = Accelerator(
        mixed_precision="bf16" if settings.precision == "bfloat16" else "no",
        gradient_accumulation_steps=settings.gradient_accumulation,
    )
    loader: Any = DataLoader(
        blocks,  # type: ignore[arg-type]
        batch_size=settings.batch_size,
        shuffle=True,
        generator=torch.Generator().manual_seed(seed),
        collate_fn=partial(pad_batch, pad_id=0),
    )
    trainable = [p for p in network.parameters() if p.requires_grad]
    optimizer: Any = torch.optim.AdamW(trainable, lr=settings.learning_rate)
    num_steps = math.ceil(len(loader) / settings.gradient_accumulation) * settings.num_epochs
    schedule: Any = get_linear_schedule_with_warmup(
        optimizer, num_warmup_steps=round(0.05 * num_steps), num_training_steps=num_steps
    )
    network, optimizer, loader, schedule = accelerator.prepare(network, optimizer, loader, schedule)
    network.train()
    losses: list[float] = []
    for epoch in range(1, settings.num_epochs + 1):
        label = f"fine-tuning, epoch {epoch} of {settings.num_epochs}"
        losses.append(_epoch(accelerator, network, optimizer, loader, schedule, label))
        logger.info("%s: mean loss %.3f nats per token", label, losses[-1])
        if not math.isfinite(losses[-1]):
            raise UserError(f"{label}: the loss is {losses[-1]}; lower finetuning.learning_rate")
    return losses


def _epoch(
    accelerator: Accelerator, network: Any, optimizer: Any, loader: Any, schedule: Any, label: str
) -> float:
    """One pass over the documents; the mean loss over all predicted tokens."""
    total, count = 0.0, 0
    for batch in progress(loader, total=len(loader), label=label):
        with accelerator.accumulate(network):
            loss = network(**batch).loss
            accelerator.backward(loss)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        num_targets = int((batch["labels"][:, 1:] != _IGNORED).sum())
        total += loss.item() * num_targets
        count += num_targets
    return total / count


def _save(network: Any, folder: Path, origin: dict[str, Any]) -> None:
    # peft would write the base's path, which differs between machines and so would the digest.
    network.peft_config["default"].base_model_name_or_path = origin["base"]
    with writing.replacing_folder(folder) as new:
        # "auto" would ask the hub whether the base's vocabulary was resized.
        network.save_pretrained(new, save_embedding_layers=False)
        (new / "README.md").unlink(missing_ok=True)
        models.write_adapter_manifest(new, origin=origin)
