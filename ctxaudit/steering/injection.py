"""Add a direction to the residual stream while a model generates.

The last position of a forward pass is the one that yields the next token. For a prompt of P
tokens the first pass therefore acts at position P-1, and each later pass, which under a key-value
cache holds one token, at that token.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import torch

from ctxaudit.errors import UserError
from ctxaudit.interface import FloatArray
from ctxaudit.layers import blocks, hidden_of, with_hidden
from ctxaudit.models import LanguageModel

Schedule = Literal["first_generated", "all_tokens"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Steering:
    """What is added where.

    Attributes:
        direction: (L, D) one vector per block, of unit length or zero.
        alpha: Its coefficient, in units of the residual stream.
        schedule: `first_generated` acts in the pass that yields the first new token, `all_tokens`
            in every pass.
        layers: Blocks (1…L) that are steered; None takes all.
    """

    direction: FloatArray
    alpha: float
    schedule: Schedule
    layers: tuple[int, ...] | None = None


@dataclass(slots=True)
class Passes:
    """What happened inside one `steer` block.

    Attributes:
        num_prompts: Passes that began a batch.
        num_steps: Later passes.
        num_injections: Additions per steered block.
    """

    num_prompts: int = 0
    num_steps: int = 0
    num_injections: dict[int, int] = field(default_factory=dict)
    _at_prompt: bool = False

    def begin(self, _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Pre-hook of the whole model: tell a new batch from its next step by the cache."""
        num_tokens = (args[0] if args else kwargs["input_ids"]).shape[1]
        # The keyword was renamed in transformers 5.24; the old one is accepted until 5.40.
        cache = kwargs.get("cache", kwargs.get("past_key_values"))
        self._at_prompt = cache is None or cache.get_seq_length() == 0
        if self._at_prompt:
            self.num_prompts += 1
            _check_prompt(kwargs.get("attention_mask"), num_tokens)
        else:
            self.num_steps += 1
            if num_tokens != 1:
                raise ValueError("steering needs one token per pass after the prompt")

    def is_due(self, schedule: Schedule) -> bool:
        """Whether the running pass is to be steered."""
        return self._at_prompt or schedule == "all_tokens"

    def check(self, steering: Steering) -> None:
        """RuntimeError if any block was steered more or less often than the schedule says."""
        later = self.num_steps if steering.schedule == "all_tokens" else 0
        wrong = {k: n for k, n in self.num_injections.items() if n != self.num_prompts + later}
        if wrong:
            raise RuntimeError(
                f"expected {self.num_prompts + later} injections per block, got {wrong}"
            )


@contextlib.contextmanager
def steer(model: LanguageModel, steering: Steering) -> Iterator[Passes]:
    """Steer every forward pass of the model in the block; afterwards the model is as before.

    Batches must be padded on the left. Without a cache every pass counts as a prompt.

    Raises:
        UserError: if the direction does not fit the model or a layer does not exist.
    """
    stack = blocks(model.network)
    chosen = _chosen_layers(steering, len(stack), model)
    passes = Passes(num_injections=dict.fromkeys(chosen, 0))
    with contextlib.ExitStack() as hooks:
        start = model.network.register_forward_pre_hook(passes.begin, with_kwargs=True)
        hooks.callback(start.remove)
        for layer in chosen:
            hook = _injecting(steering, layer, passes, model.device)
            hooks.callback(stack[layer - 1].register_forward_hook(hook).remove)
        yield passes
    passes.check(steering)


def _injecting(steering: Steering, layer: int, passes: Passes, device: torch.device) -> Any:
    row = torch.as_tensor(steering.direction[layer - 1], dtype=torch.float32, device=device)
    vector = steering.alpha * row

    def inject(_: Any, __: Any, output: Any) -> Any:
        if not passes.is_due(steering.schedule):
            return output
        passes.num_injections[layer] += 1
        hidden = hidden_of(output)
        moved = (hidden[:, -1:].float() + vector.to(hidden.device)).to(hidden.dtype)
        return with_hidden(output, torch.cat([hidden[:, :-1], moved], dim=1))

    return inject


def _chosen_layers(steering: Steering, num_layers: int, model: LanguageModel) -> tuple[int, ...]:
    size = model.network.get_input_embeddings().embedding_dim
    if steering.direction.shape != (num_layers, size):
        raise UserError(
            f"steering direction of shape {steering.direction.shape} does not fit the model, "
            f"which needs {(num_layers, size)}; compute it with this model"
        )
    chosen = tuple(range(1, num_layers + 1)) if steering.layers is None else steering.layers
    unknown = sorted(set(chosen) - set(range(1, num_layers + 1)))
    if unknown:
        raise UserError(f"steering.layers: no block {unknown}; allowed are 1 to {num_layers}")
    return chosen


def _check_prompt(attention: Any, num_tokens: int) -> None:
    if not isinstance(attention, torch.Tensor) or attention.dim() != 2:
        return
    if not attention[:, -1].all():
        raise ValueError("steering needs batches padded on the left")
    if attention.shape[1] != num_tokens:
        raise RuntimeError("the pass continues from a cache that steering does not see")
