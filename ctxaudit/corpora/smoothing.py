"""A language model joins the segments into one document (overlap study, section 4, step 3).

The paper asks for all facts kept, transitions added, nothing new and the terminology kept, with
the provenance of each segment preserved. All of it is checked here; where a reply fails, the
plain segments stay and the example says why.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from ctxaudit import prompts
from ctxaudit.config.overlap import Smoothing
from ctxaudit.corpora import segments
from ctxaudit.interface import Example
from ctxaudit.llm.client import Client
from ctxaudit.llm.requests import ChatRequest, Completion
from ctxaudit.llm.structured import Outcome
from ctxaudit.logs import logger
from ctxaudit.prompts import TaskPrompt

_CHARACTERS_PER_TOKEN = 3
"""Technical text; plain English has four. The request must not depend on a tokenizer."""


def smooth(
    examples: Sequence[Example], client: Client, prompt: TaskPrompt, settings: Smoothing
) -> list[Example]:
    """The examples in their order, each with smoothed sources or its plain ones.

    Ids, provenance and order of the sources stay. The tag `smoothed` is "yes" or "no", the tag
    `smoothing_fault` the reason of a "no", else empty. The tag `smoothing_outcome` is how the
    generator's reply ended, empty where none was asked for.

    Args:
        examples: Examples with sources.
        client: The generator.
        prompt: User text with `{segments}`.
        settings: Output limit and check of facts.
    """
    chosen = _chosen(examples, settings.num_examples)
    asked = [example for example in examples if example.id in chosen and not _obstacle(example)]
    replies = client.complete(
        [_request(example, client.name, prompt, settings) for example in asked],
        batch_size=settings.batch_size,
    )
    by_id = {example.id: reply for example, reply in zip(asked, replies, strict=True)}
    smoothed = [
        _apply(example, by_id.get(example.id), settings)
        if example.id in chosen
        else _tagged(example, "", "not asked for")
        for example in examples
    ]
    faults = Counter(example.tags["smoothing_fault"] for example in smoothed)
    num_smoothed = faults.pop("", 0)
    logger.info("%d of %d contexts smoothed", num_smoothed, len(smoothed))
    for fault, count in faults.most_common():
        logger.info("plain segments kept: %s: %d", fault, count)
    return smoothed


def _chosen(examples: Sequence[Example], num_examples: int | None) -> set[str]:
    """Ids of the examples to smooth: the same whatever the order; a larger number only adds."""
    ranked = sorted(
        (example.id for example in examples),
        key=lambda name: hashlib.sha256(name.encode()).digest(),
    )
    return set(ranked[:num_examples])


def _obstacle(example: Example) -> str:
    """Why an example cannot be smoothed at all, else empty."""
    if len(example.sources) < 2:
        return "fewer than two segments"
    if any(segments.holds_marker(source.text) for source in example.sources):
        return "a segment holds a marker"
    return ""


def _request(example: Example, model: str, prompt: TaskPrompt, settings: Smoothing) -> ChatRequest:
    marked = segments.mark([source.text for source in example.sources])
    limit = math.ceil(settings.token_factor * len(marked) / _CHARACTERS_PER_TOKEN)
    return ChatRequest(
        model=model,
        messages=prompts.task_messages(prompt, {"segments": marked}),
        max_new_tokens=limit,
        chat=prompt.chat,
    )


def _apply(example: Example, reply: Completion | None, settings: Smoothing) -> Example:
    if reply is None:
        return _tagged(example, "", _obstacle(example))
    if reply.finish != "stop":
        return _tagged(example, reply.finish, f"reply ended by {reply.finish}")
    texts = segments.unmark(reply.text, len(example.sources))
    if texts is None:
        return _tagged(example, "unparsable", "markers lost")
    fault = _fault([source.text for source in example.sources], texts, settings)
    if fault:
        return _tagged(example, "invalid", fault)
    sources = tuple(
        replace(source, text=text) for source, text in zip(example.sources, texts, strict=True)
    )
    return _tagged(replace(example, sources=sources), "valid", "")


def _fault(plain: Sequence[str], texts: Sequence[str], settings: Smoothing) -> str:
    """What smoothed segments have lost or gained, else empty."""
    recalls = [
        segments.fact_recall(before, after) for before, after in zip(plain, texts, strict=True)
    ]
    if min(recalls) < settings.min_fact_recall:
        return "facts lost"
    return "information added" if segments.new_facts(" ".join(plain), " ".join(texts)) else ""


def _tagged(example: Example, outcome: Outcome | Literal[""], fault: str) -> Example:
    tags = {
        "smoothed": "no" if fault else "yes",
        "smoothing_fault": fault,
        "smoothing_outcome": outcome,
    }
    return replace(example, tags={**example.tags, **tags})
