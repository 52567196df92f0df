"""Prompt files and their rendering into token ids.

A prompt file is YAML. Placeholders in braces are filled in one pass, so text of others that holds
braces stays as it is. What the model sees of a mask is decided here and nowhere else; all of it
ends up in the token ids, hence in the score store's key.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from ctxaudit.errors import UserError
from ctxaudit.interface import BoolArray, Example, Task

Messages = list[dict[str, str]]

Prompt = TypeVar("Prompt", bound=BaseModel)


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


class TaskExample(BaseModel):
    """One worked example: what the user gives and the reply that is wanted."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    values: dict[str, str]
    reply: str


class TaskPrompt(BaseModel):
    """Instructions to a judge or generator.

    Attributes:
        chat: Whether to use the model's chat template; otherwise all is one plain text that the
            reply continues, which small models follow better when they are shown examples.
        system: System message; None leaves the model's own default.
        user: User message with the placeholders that its stage fills.
        examples: Turns before it: the user message filled with their values, and the reply.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    chat: bool = True
    system: str | None = None
    examples: tuple[TaskExample, ...] = ()
    user: str


def read(path: str | Path) -> PromptTemplate:
    """Read a prompt file; UserError names the file and the key at fault."""
    return _read(path, PromptTemplate)


def read_task(path: str | Path) -> TaskPrompt:
    """Read a judge's or generator's prompt file; UserError names the file and the key at fault."""
    return _read(path, TaskPrompt)


def _read(path: str | Path, kind: type[Prompt]) -> Prompt:
    try:
        raw = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        return kind.model_validate(raw)
    except OSError as error:
        raise UserError(f"{path}: prompt file cannot be read: {error.strerror}") from None
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not valid YAML: {error}") from None
    except ValidationError as error:
        faults = (f"{path}: {'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise UserError("\n".join(faults)) from None


def read_by_task(paths: Mapping[str, str], *, prefix: str = "") -> dict[Task, PromptTemplate]:
    """The prompt files of both conflict task families; `prefix` chooses `single_…` ones."""
    tasks: tuple[Task, ...] = ("reasoning", "summarization")
    return {task: read(paths[prefix + task]) for task in tasks}


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


def task_messages(prompt: TaskPrompt, values: Mapping[str, str]) -> Messages:
    """The messages of a task, its examples first, so that requests share them.

    A plain text is the content of one user message.
    """
    if not prompt.chat:
        shown = [fill(prompt.user, example.values) + example.reply for example in prompt.examples]
        start = [] if prompt.system is None else [prompt.system]
        content = "\n\n".join([*start, *shown, fill(prompt.user, values)])
        return [{"role": "user", "content": content}]
    system = [] if prompt.system is None else [{"role": "system", "content": prompt.system}]
    turns = [
        turn
        for example in prompt.examples
        for turn in (
            {"role": "user", "content": fill(prompt.user, example.values)},
            {"role": "assistant", "content": example.reply},
        )
    ]
    return [*system, *turns, {"role": "user", "content": fill(prompt.user, values)}]


def chat_ids(tokenizer: Any, chat: Messages) -> list[int]:
    """Token ids of a chat, up to where the model's reply begins.

    Raises:
        UserError: if the model has no chat template.
    """
    if not tokenizer.chat_template:
        raise UserError(
            "the model has no chat template; choose one that is tuned for chat, or put a "
            "chat_template.jinja into its folder"
        )
    rendered = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
    return list(tokenizer(rendered, add_special_tokens=False).input_ids)


def prompt_ids(
    template: PromptTemplate, tokenizer: Any, query: str, sources: Sequence[str]
) -> list[int]:
    """Token ids of the prompt, up to where the response begins; one BOS if the model has one."""
    if template.chat:
        return chat_ids(tokenizer, messages(template, query, sources))
    return list(tokenizer(text(template, query, sources)).input_ids)


def prompt_with_spans(
    template: PromptTemplate, tokenizer: Any, query: str, sources: Sequence[str]
) -> tuple[list[int], list[tuple[int, int]]]:
    """The ids of `prompt_ids` and, per source, the half-open range of tokens that begin in it.

    Raises:
        UserError: if the tokenizer keeps no character offsets, or the chat template alters the
            user text by more than trimming its ends.
    """
    if not tokenizer.is_fast:
        raise UserError(
            f"the tokenizer {type(tokenizer).__name__} has no character offsets, which locate the "
            "sources in the prompt; use a model with a fast tokenizer (tokenizer.json)"
        )
    user = text(template, query, sources)
    rendered, first, shown = _rendered(template, tokenizer, query, user, sources)
    encoded = tokenizer(rendered, add_special_tokens=not template.chat, return_offsets_mapping=True)
    # A token of no width was added by the tokenizer and lies in no text.
    starts = [start if end > start else -1 for start, end in encoded["offset_mapping"]]
    trimmed = user.index(shown)
    spans = []
    for span in _source_spans(template, query, sources):
        begin, end = (first + min(max(at - trimmed, 0), len(shown)) for at in span)
        inside = [index for index, start in enumerate(starts) if begin <= start < end]
        spans.append((inside[0], inside[-1] + 1) if inside else (0, 0))
    return list(encoded["input_ids"]), spans


def _rendered(
    template: PromptTemplate, tokenizer: Any, query: str, user: str, sources: Sequence[str]
) -> tuple[str, int, str]:
    """The prompt as one string, where the user text begins in it, and the user text as shown."""
    if not template.chat:
        return user, 0, user
    # Grown while it occurs, since a text may hold any character.
    mark = "\ue000"
    while mark in user:
        mark += "\ue000"
    system = messages(template, query, sources)[:-1]
    whole, marked = (
        tokenizer.apply_chat_template(
            [*system, {"role": "user", "content": content}],
            add_generation_prompt=True,
            tokenize=False,
        )
        for content in (user, mark)
    )
    first = marked.index(mark)
    for shown in (user, user.strip()):
        if whole.startswith(shown, first):
            return whole, first, shown
    raise UserError(
        "the chat template alters the user text, so that the sources cannot be located in it; "
        "set `chat: false` or use another model"
    )


def _source_spans(
    template: PromptTemplate, query: str, sources: Sequence[str]
) -> list[tuple[int, int]]:
    """Half-open character range of each source in the user text."""
    if "{sources}" not in template.with_sources or "{text}" not in template.source:
        raise UserError("the prompt needs {sources} in `with_sources` and {text} in `source`")
    position = len(fill(template.with_sources.partition("{sources}")[0], {"query": query}))
    spans = []
    for number, source in enumerate(sources, start=1):
        values = {"text": source, "number": str(number)}
        begin = position + len(fill(template.source.partition("{text}")[0], values))
        spans.append((begin, begin + len(source)))
        position += len(fill(template.source, values)) + len(template.separator)
    return spans


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
