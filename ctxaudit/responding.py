"""Which examples are answered, with which prompts, and the answers."""

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from ctxaudit import prompts
from ctxaudit.config.conflict import Generation
from ctxaudit.errors import UserError
from ctxaudit.interface import Example, Response, Task
from ctxaudit.llm.client import Client
from ctxaudit.llm.requests import ChatRequest
from ctxaudit.prompts import PromptTemplate


def test_subset(
    examples: Sequence[Example], num_per_type: int | None, *, seed: int
) -> list[Example]:
    """Conflict examples of the test part, at most `num_per_type` per conflict type.

    Chosen and ordered by a hash of seed and id: the same whatever the order of the file, and a
    larger number only adds.
    """
    by_type = defaultdict(list)
    for example in examples:
        if example.tags["part"] == "test" and example.tags["twin"] == "conflict":
            by_type[example.tags["conflict_type"]].append(example)
    return [
        example
        for name in sorted(by_type)
        for example in sorted(by_type[name], key=lambda e: _rank(e.id, seed))[:num_per_type]
    ]


def combined_prompt(
    example: Example, templates: Mapping[Task, PromptTemplate], tokenizer: Any
) -> list[int]:
    """Token ids of the prompt with all the evidence.

    Raises:
        UserError: if the example has no evidence.
    """
    template = templates[example.task]
    return prompts.prompt_ids(template, tokenizer, example.query, evidence(example))


def evidence(example: Example) -> list[str]:
    """The texts of all the evidence.

    Raises:
        UserError: if there is none.
    """
    if not example.sources:
        raise UserError(f"example '{example.id}': no sources; at least one piece of evidence")
    return [source.text for source in example.sources]


def single_prompts(
    example: Example, templates: Mapping[Task, PromptTemplate], tokenizer: Any
) -> list[list[int]]:
    """Token ids of S prompts, each with one piece of evidence; templates of their own."""
    return [
        prompts.prompt_ids(templates[example.task], tokenizer, example.query, [source.text])
        for source in example.sources
    ]


def respond(
    examples: Sequence[Example],
    client: Client,
    *,
    templates: Mapping[Task, PromptTemplate],
    settings: Generation,
) -> list[Response]:
    """One response per example, in order; an empty one and a refusal are responses too.

    Raises:
        UserError: before anything is asked, naming the first example that has no evidence.
    """
    asked = [_request(example, templates, client.name, settings) for example in examples]
    replies = client.complete(asked, batch_size=settings.batch_size)
    return [
        Response(example_id=example.id, text=reply.text, finish=reply.finish)
        for example, reply in zip(examples, replies, strict=True)
    ]


def _request(
    example: Example,
    templates: Mapping[Task, PromptTemplate],
    model: str,
    settings: Generation,
) -> ChatRequest:
    template = templates[example.task]
    texts = evidence(example)
    if template.chat:
        messages = prompts.messages(template, example.query, texts)
    else:
        messages = [{"role": "user", "content": prompts.text(template, example.query, texts)}]
    return ChatRequest(
        model=model,
        messages=messages,
        max_new_tokens=settings.max_new_tokens,
        chat=template.chat,
    )


def _rank(name: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}/{name}".encode()).digest()
