"""Final-layer distances between response and context tokens, aligned as in kNN-LM.

Khandelwal et al. (2019), section 2: the key of a token is the hidden state that predicts it, one
position before, and its label is the token itself. TokenShapley compares response tokens with
context tokens in this space; no source is ablated, so one forward pass per example does.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ctxaudit import prompts
from ctxaudit.ablation import choices
from ctxaudit.ablation.choices import Scoring
from ctxaudit.ablation.plain import right_padded
from ctxaudit.ablation.scorer import ScoreRequest, check
from ctxaudit.interface import Example, Response, TokenDistances
from ctxaudit.logs import progress
from ctxaudit.matching import matched
from ctxaudit.memory import run_in_batches
from ctxaudit.models import LanguageModel
from ctxaudit.prompts import PromptTemplate

_MAX_SPREAD = 32
"""Most tokens by which the sequences of a batch differ, which bounds padding."""


@dataclass(frozen=True, slots=True)
class _Item:
    """An example's full prompt and response as token ids; spans are the sources' tokens."""

    example_id: str
    prompt: list[int]
    spans: list[tuple[int, int]]
    response: list[int]


def measure(
    examples: Sequence[Example],
    responses: Sequence[Response],
    *,
    model: LanguageModel,
    template: PromptTemplate,
    scoring: Scoring = "option_text",
    batch_tokens: int,
) -> Iterator[TokenDistances]:
    """Cosine distances of each response token to each token of the sources, example by example.

    The hidden states are those after the final norm; the end token of the response is left out.

    Args:
        examples: The examples, all sources shown.
        responses: One per example, matched by its id.
        model: The model whose states are compared.
        template: How query and sources become a prompt.
        scoring: How options are shown and answered, see `ctxaudit.ablation.choices`.
        batch_tokens: Upper limit of tokens, padding included, in one forward pass.

    Raises:
        UserError: if an example has no response or one of no token, if the two exceed the
            window, or if the tokenizer keeps no character offsets.
    """
    pairs = zip(examples, matched(examples, responses, "response"), strict=True)
    items = [_item(example, response, model, template, scoring) for example, response in pairs]
    check(
        [
            ScoreRequest(tuple(item.prompt), tuple(item.response), f"example '{item.example_id}'")
            for item in items
        ],
        max_tokens=model.max_tokens,
    )
    return _measure_all(items, model, batch_tokens)


def _item(
    example: Example,
    response: Response,
    model: LanguageModel,
    template: PromptTemplate,
    scoring: Scoring,
) -> _Item:
    texts = [source.text for source in example.sources]
    query = choices.shown(example, scoring).query
    prompt, spans = prompts.prompt_with_spans(template, model.tokenizer, query, texts)
    answer = choices.answer(example, response.text, scoring)
    ids = prompts.response_ids(template, model.tokenizer, answer)
    return _Item(example.id, prompt, spans, ids[:-1])


def _measure_all(
    items: Sequence[_Item], model: LanguageModel, batch_tokens: int
) -> Iterator[TokenDistances]:
    sequences = [[*item.prompt, *item.response] for item in items]
    batches = run_in_batches(
        range(len(items)),
        list(map(len, sequences)),
        lambda batch: _hidden_states(model, [sequences[index] for index in batch]),
        limit=model.pass_limit,
        max_tokens=batch_tokens,
        max_spread=_MAX_SPREAD,
    )
    states = (pair for batch, rows in batches for pair in zip(batch, rows, strict=True))
    for index, row in progress(states, total=len(items), label="token distances"):
        yield _distances(items[index], row)


@torch.inference_mode()
def _hidden_states(model: LanguageModel, sequences: Sequence[list[int]]) -> torch.Tensor:
    """Final hidden states (B, T, D), float32, padded on the right."""
    input_ids, attention_mask = right_padded(sequences, model.device)
    states = model.network.base_model(
        input_ids=input_ids,
        attention_mask=attention_mask,
        position_ids=torch.arange(input_ids.shape[1], device=model.device).expand_as(input_ids),
        use_cache=False,
    ).last_hidden_state
    return torch.as_tensor(states).float()


def _distances(item: _Item, states: torch.Tensor) -> TokenDistances:
    # The first token of a sequence has no state before it, hence no key.
    spans = [np.arange(max(first, 1), last) for first, last in item.spans]
    players = np.concatenate(spans)
    queries = len(item.prompt) + np.arange(len(item.response))
    units = torch.nn.functional.normalize(states, dim=-1)
    cosines = units[queries - 1] @ units[players - 1].T
    tokens = np.array([*item.prompt, *item.response])
    return TokenDistances(
        example_id=item.example_id,
        distances=1.0 - cosines.cpu().numpy().astype(np.float64),
        matches=tokens[queries][:, None] == tokens[players],
        source=np.repeat(np.arange(len(spans)), [len(span) for span in spans]),
        num_sources=len(spans),
    )
