"""Where a model keeps its blocks, and what a block puts out; by an explicit table, no guessing."""

from typing import Any

import torch

from ctxaudit.errors import UserError

_BLOCKS = {
    "llama": "model.layers",
    "qwen2": "model.layers",
    "qwen3": "model.layers",
    "gemma3_text": "model.layers",
    "gemma3": "model.language_model.layers",
    "gpt_oss": "model.layers",
    "gpt_neox": "gpt_neox.layers",
    "gpt2": "transformer.h",
}
"""Path of the block list from the causal model, by `model_type` of its config."""


def blocks(network: Any) -> list[torch.nn.Module]:
    """The L blocks of a causal language model, first to last.

    Raises:
        UserError: if the model's family is not in the table.
    """
    family = network.config.model_type
    if family not in _BLOCKS:
        known = ", ".join(sorted(_BLOCKS))
        raise UserError(
            f"model type '{family}': its blocks are not known; known are {known}. "
            "Add its path to the table in ctxaudit/layers.py"
        )
    return list(network.get_submodule(_BLOCKS[family]))


def hidden_of(output: Any) -> torch.Tensor:
    """The residual stream (B, T, D) in a block's output, a tensor or a tuple that it leads."""
    hidden: torch.Tensor = output[0] if isinstance(output, tuple) else output
    return hidden


def with_hidden(output: Any, hidden: torch.Tensor) -> Any:
    """The same output with another residual stream."""
    return (hidden, *output[1:]) if isinstance(output, tuple) else hidden
