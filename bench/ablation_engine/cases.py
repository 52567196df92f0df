"""Inputs of a given size, cut from the demo's own corpora."""

import json
from dataclasses import dataclass
from pathlib import Path

from ctxaudit import prompts
from ctxaudit.ablation.masks import all_masks
from ctxaudit.ablation.plain import TokenPair
from ctxaudit.interface import Example, Response, Source
from ctxaudit.models import LanguageModel
from ctxaudit.prompts import PromptTemplate

CORPUS = Path("resources/demo/overlap/retain.jsonl")
QUERY = "What do the sources say about the harbour and about those who keep its lamps?"

# The form that context-cite gives its prompts, so that all contenders read the same tokens.
TEMPLATE = PromptTemplate(
    chat=True,
    with_sources="Context: {sources}\n\nQuery: {query}",
    without_sources="Context: \n\nQuery: {query}",
    separator="\n",
)


@dataclass(frozen=True, slots=True)
class Case:
    """One example with its response, and the prompts of all its subsets.

    Attributes:
        example: S sources of about the same number of tokens.
        response: What is scored.
        pairs: Token ids of prompt and response per subset, in the order of `all_masks(S)`.
    """

    example: Example
    response: Response
    pairs: list[TokenPair]


def make(
    model: LanguageModel, *, num_sources: int, source_tokens: int, response_tokens: int
) -> Case:
    """A case whose sources and response have about so many tokens, the end token included."""
    lines = CORPUS.read_text(encoding="utf-8").splitlines()
    words = " ".join(json.loads(line)["text"] for line in lines)
    ids = model.tokenizer(words).input_ids
    needed = num_sources * source_tokens + response_tokens
    ids = ids * (needed // len(ids) + 1)
    cuts = [range(i * source_tokens, (i + 1) * source_tokens) for i in range(num_sources)]
    texts = [model.tokenizer.decode([ids[at] for at in cut]).strip() for cut in cuts]
    answer = model.tokenizer.decode(ids[needed - response_tokens + 1 : needed]).strip()
    example = Example(
        id="bench",
        query=QUERY,
        sources=tuple(Source(id=str(n), text=text) for n, text in enumerate(texts)),
        task="multiple_choice",
    )
    response = tuple(prompts.response_ids(TEMPLATE, model.tokenizer, answer))
    shown = (
        tuple(prompts.masked_prompt_ids(TEMPLATE, model.tokenizer, example, mask))
        for mask in all_masks(num_sources)
    )
    return Case(
        example,
        Response(example_id=example.id, text=answer, finish="stop"),
        [(prompt, response) for prompt in shown],
    )
