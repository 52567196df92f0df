"""Prompt files and their rendering into token ids.

A prompt file is YAML. Placeholders in braces are filled in one pass, so text of others that holds
braces stays as it is. What the model sees of a mask is decided here and nowhere else; all of it
ends up in the token ids, hence in the score store's key.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from ctxaudit.errors import UserError
from ctxaudit.interface import BoolArray, Example

Messages = list[dict[str, str]]


class PromptTemplate(BaseModel):
    """How a query and its kept sources become a prompt.

    Attributes:
        chat: Whether to use the model's chat template; otherwise plain text.
        system: System message, chat only; None leaves the model's own default.
        with_sources: User text (or plain prompt) with `{sources}` and `{query}`.
        without_sources: The same when no source is kept.
        source: One source, with `{text}` and `{number}` (1-based among the kept).
        separator: Between two sources.
        response_prefix: Put before every response text; a blank for plain completion.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    chat: bool
    system: str | None = None
    with_sources: str
    without_sources: str
    source: str = "{text}"
    separator: str = "\n\n"
    response_prefix: str = ""


def read(path: str | Path) -> PromptTemplate:
    """Read a prompt file; UserError names the file and the key at fault."""
    try:
        raw = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        return PromptTemplate.model_validate(raw)
    except OSError as error:
        raise UserError(f"{path}: prompt file cannot be read: {error.strerror}") from None
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not valid YAML: {error}") from None
    except ValidationError as error:
        faults = (f"{path}: {'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise UserError("\n".join(faults)) from None


def fill(text: str, values: Mapping[str, str]) -> str:
    """Replace `{name}` by its value for the names given; one pass, nothing else is touched."""
    return re.sub(r"\{(\w+)\}", lambda hit: values.get(hit[1], hit[0]), text)


def messages(template: PromptTemplate, query: str, sources: Sequence[str]) -> Messages:
    """The chat messages for a query with the kept sources, in their order."""
    system = [] if template.system is None else [{"role": "system", "content": template.system}]
    return [*system, {"role": "user", "content": text(template, query, sources)}]


def text(template: PromptTemplate, query: str, sources: Sequence[str]) -> str:
    """The user text (or plain prompt) for a query with the kept sources, in their order."""
    shown = template.separator.join(
        fill(template.source, {"text": source, "number": str(number)})
        for number, source in enumerate(sources, start=1)
    )
    body = template.with_sources if sources else template.without_sources
    return fill(body, {"sources": shown, "query": query})


def prompt_ids(
    template: PromptTemplate, tokenizer: Any, query: str, sources: Sequence[str]
) -> list[int]:
    """Token ids of the prompt, up to where the response begins; one BOS if the model has one."""
    if template.chat:
        rendered = tokenizer.apply_chat_template(
            messages(template, query, sources), add_generation_prompt=True, tokenize=False
        )
        return list(tokenizer(rendered, add_special_tokens=False).input_ids)
    return list(tokenizer(text(template, query, sources)).input_ids)


def masked_prompt_ids(
    template: PromptTemplate, tokenizer: Any, example: Example, mask: BoolArray
) -> list[int]:
    """Token ids of an example's prompt under a mask (S,)."""
    kept = [source.text for source, keep in zip(example.sources, mask, strict=True) if keep]
    return prompt_ids(template, tokenizer, example.query, kept)


def response_ids(template: PromptTemplate, tokenizer: Any, response: str) -> list[int]:
    """Token ids of a response, tokenised apart from the prompt, with the end token last."""
    ids = tokenizer(template.response_prefix + response, add_special_tokens=False).input_ids
    return [*ids, tokenizer.eos_token_id]
