"""What one stage asks of one model.

Lengths come from characters, chat templates are left out and generation counts at its limit, so
the figures are good for sizing a run, not for a bill.
"""

from dataclasses import dataclass

from ctxaudit import prompts
from ctxaudit.ablation import cost
from ctxaudit.ablation.cost import Frame
from ctxaudit.config.root import Config


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What one stage asks of one model.

    Attributes:
        stage: Name of the stage.
        model: Key of `models`.
        sequences: Sequences forwarded.
        tokens: Tokens forwarded if every sequence stands alone.
        saved_tokens: Those of them that need no pass where common beginnings are computed once.
        generated_tokens: New tokens, at their limit.
        passes: Forward passes that a token costs.
    """

    stage: str
    model: str
    sequences: float
    tokens: float
    saved_tokens: float = 0.0
    generated_tokens: float = 0.0
    passes: int = 1


def read_frame(config: Config, path: str, *, query: float, source: float) -> Frame:
    """The frame of a prompt file, for a query and sources of so many tokens."""
    return cost.frame_of(
        prompts.read(path),
        query=query,
        source=source,
        characters_per_token=config.planning.characters_per_token,
    )


def instruction_tokens(config: Config, path: str) -> float:
    """Tokens of a judge's or generator's prompt before its stage fills in the placeholders."""
    task = prompts.read_task(path)
    turns = [task.user, *(text for e in task.examples for text in (task.user, e.reply))]
    filled = [value for example in task.examples for value in example.values.values()]
    characters = len("".join([task.system or "", *turns, *filled]))
    return characters / config.planning.characters_per_token
