"""Do the questions, instances and settings fit the models? Asked before anything costly runs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import AutoConfig

from ctxaudit import prompts
from ctxaudit.ablation import choices
from ctxaudit.ablation.choices import Scoring
from ctxaudit.errors import UserError
from ctxaudit.interface import Example, Task
from ctxaudit.models import LanguageModel
from ctxaudit.prompts import PromptTemplate
from ctxaudit.responding import combined_prompt, single_prompts

Templates = Mapping[Task, PromptTemplate]


@dataclass(frozen=True, slots=True)
class Demand:
    """Tokens that one prompt needs.

    Attributes:
        name: What the prompt is made of, for messages.
        num_tokens: Of the prompt.
        num_new: Of what is scored or generated after it.
    """

    name: str
    num_tokens: int
    num_new: int


def of_questions(
    examples: Sequence[Example],
    *,
    template: PromptTemplate,
    scoring: Scoring,
    tokenizer: Any,
) -> Iterator[Demand]:
    """The least that each question needs: no source, and its longest option.

    Raises:
        UserError: if an example cannot be evaluated.
    """
    for example in examples:
        choices.check(example, scoring)
        shown = choices.shown(example, scoring)
        answers = (choices.answer(example, choice, scoring) for choice in example.choices)
        yield Demand(
            f"question '{example.id}' without any source",
            len(prompts.prompt_ids(template, tokenizer, shown.query, [])),
            max(len(prompts.response_ids(template, tokenizer, answer)) for answer in answers),
        )


def of_instances(
    examples: Sequence[Example],
    *,
    combined: Templates,
    single: Templates,
    answered: Sequence[Example],
    max_new_tokens: int,
    tokenizer: Any,
) -> Iterator[Demand]:
    """What the prompts of each instance need, with all its evidence and with a single piece.

    Args:
        examples: All instances and their twins.
        combined: Templates of the prompts with all the evidence, by task.
        single: Those of the prompts with one piece.
        answered: The examples that are answered, in `max_new_tokens` at most.
        max_new_tokens: Limit of a response.
        tokenizer: The model's.
    """
    limits = {example.id: max_new_tokens for example in answered}
    for example in examples:
        name = f"example '{example.id}'"
        num_tokens = len(combined_prompt(example, combined, tokenizer))
        yield Demand(f"{name} with all its evidence", num_tokens, limits.get(example.id, 0))
        for number, prompt in enumerate(single_prompts(example, single, tokenizer), start=1):
            yield Demand(f"{name} with its evidence {number} alone", len(prompt), 0)


def check_window(demands: Iterator[Demand], model: LanguageModel, *, name: str) -> Demand:
    """The most demanding prompt, if it fits the model's window.

    Args:
        demands: At least one.
        model: The model that will read them.
        name: Its name in the configuration.

    Raises:
        UserError: naming the prompt, its length and the window.
    """
    largest = max(demands, key=lambda demand: demand.num_tokens + demand.num_new)
    if largest.num_tokens + largest.num_new > model.max_tokens:
        raise UserError(
            f"{largest.name}: {largest.num_tokens} tokens and {largest.num_new} after them exceed "
            f"the window of model '{name}', {model.max_tokens} tokens. Shorten or drop it in the "
            "raw file, shorten the prompt, or choose a model with a larger window"
        )
    return largest


def check_layers(layers: Sequence[int] | None, manifest: str | Path, *, name: str) -> int:
    """The model's number of blocks, if it has all the blocks that are to be steered.

    Args:
        layers: `conflict.steering.layers`; None for all blocks.
        manifest: `manifest.json` of the model folder.
        name: The model's name in the configuration.

    Raises:
        UserError: naming the blocks that it lacks.
    """
    config = AutoConfig.from_pretrained(Path(manifest).parent).get_text_config()
    num_blocks = int(config.num_hidden_layers)
    unknown = sorted(layer for layer in layers or [] if not 1 <= layer <= num_blocks)
    if unknown:
        raise UserError(
            f"conflict.steering.layers: model '{name}' has no block "
            f"{', '.join(map(str, unknown))}; allowed are 1 to {num_blocks}"
        )
    return num_blocks
