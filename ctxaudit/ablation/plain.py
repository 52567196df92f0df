"""Log-probabilities sequence by sequence: batched, right-padded, nothing shared."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import torch

from ctxaudit.memory import run_in_batches
from ctxaudit.models import LanguageModel

TokenPair = tuple[tuple[int, ...], tuple[int, ...]]
"""Prompt and response."""

LogProbs = npt.NDArray[np.float32]
"""(T,) log-probability of each response token, nats."""

Scored = tuple[int, LogProbs]
"""Position of a pair and its score."""

_MAX_SPREAD = 32
"""Most tokens by which the sequences of a batch differ: bounds padding and unread logits."""

_BLOCK_ELEMENTS = 2**25


def score_plain(
    model: LanguageModel, pairs: Sequence[TokenPair], *, batch_tokens: int
) -> Iterator[Scored]:
    """Score responses to prompts, each in a row of its own.

    Args:
        model: Any causal language model.
        pairs: (prompt, response), neither of them empty.
        batch_tokens: Upper limit of tokens, padding included, in one forward pass; a single
            longer pair is run alone.

    Yields:
        Position in `pairs` and log-probability of each response token (T,), nats.
    """
    order = sorted(range(len(pairs)), key=lambda i: (len(pairs[i][1]), len(pairs[i][0])))
    lengths = [len(prompt) + len(response) for prompt, response in pairs]
    for batch, scores in run_in_batches(
        order,
        lengths,
        lambda chosen: _score_batch(model, [pairs[index] for index in chosen]),
        limit=model.pass_limit,
        max_tokens=batch_tokens,
        max_spread=_MAX_SPREAD,
    ):
        yield from zip(batch, scores, strict=True)


def token_logprobs(
    logits: torch.Tensor, rows: npt.NDArray[np.int64], tokens: npt.NDArray[np.int64]
) -> LogProbs:
    """Log-softmax in float32 of `logits` (N, V), read at (row, token): (M,) nats."""
    size = max(1, _BLOCK_ELEMENTS // logits.shape[-1])
    norms = [block.float().logsumexp(dim=-1) for block in torch.split(logits, size)]
    row, token = (torch.as_tensor(index, device=logits.device) for index in (rows, tokens))
    chosen = logits[row, token].float() - torch.cat(norms)[row]
    return np.asarray(chosen.cpu().numpy(), dtype=np.float32)


@torch.inference_mode()
def _score_batch(model: LanguageModel, pairs: Sequence[TokenPair]) -> list[LogProbs]:
    input_ids, attention_mask = right_padded([(*p, *r[:-1]) for p, r in pairs], model.device)
    first = min(len(prompt) for prompt, _ in pairs) - 1
    logits = model.network(
        input_ids=input_ids,
        attention_mask=attention_mask,
        position_ids=torch.arange(input_ids.shape[1], device=model.device).expand_as(input_ids),
        use_cache=False,
        logits_to_keep=torch.arange(first, input_ids.shape[1], device=model.device),
    ).logits
    return [
        token_logprobs(row, len(p) - 1 - first + np.arange(len(r)), np.asarray(r))
        for row, (p, r) in zip(logits, pairs, strict=True)
    ]


def right_padded(
    sequences: Sequence[Sequence[int]], device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and attention mask, (B, T) each; padding holds token 0 and mask 0."""
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    ids = torch.zeros(len(sequences), int(lengths.max()), dtype=torch.long)
    for row, sequence in zip(ids, sequences, strict=True):
        row[: len(sequence)] = torch.as_tensor(sequence)
    mask = torch.arange(ids.shape[1]) < lengths[:, None]
    return ids.to(device), mask.long().to(device)
