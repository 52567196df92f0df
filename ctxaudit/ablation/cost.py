"""How many tokens the evaluation of a set function takes, with and without shared prefixes.

All lengths are means in tokens and may be broken numbers.
"""

from dataclasses import dataclass

import numpy as np

from ctxaudit.interface import BoolArray
from ctxaudit.prompts import PromptTemplate


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Lengths of the parts of one prompt: head, any of the sources, tail, a response.

    Attributes:
        head: Before the sources.
        source: One source with its separator.
        tail: Between the sources and the response.
        response: One response.
        num_responses: Responses scored after the same prompt, such as the answer options.
    """

    head: float
    source: float
    tail: float
    response: float = 0.0
    num_responses: float = 1.0

    def prompt(self, num_sources: float) -> float:
        """Length of a prompt with so many sources."""
        return self.head + num_sources * self.source + self.tail


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskCounts:
    """What the masks of one example have in common.

    Attributes:
        num_masks: A.
        num_kept: Sources kept, summed over the masks.
        num_prefixes: Distinct non-empty beginnings of the kept sequences: the sources that a
            prefix tree holds.
    """

    num_masks: int
    num_kept: int
    num_prefixes: int


def all_subsets(num_sources: int) -> MaskCounts:
    """Counts of all 2^n subsets, in closed form.

    Every source is kept by half of the subsets. A subset's last source is a node of the prefix
    tree whose parent is the subset without it, so non-empty subsets and nodes are one to one.
    """
    return MaskCounts(
        num_masks=2**num_sources,
        num_kept=num_sources * 2**num_sources // 2,
        num_prefixes=2**num_sources - 1,
    )


def of_masks(masks: BoolArray) -> MaskCounts:
    """Counts of the distinct rows of masks (A, S)."""
    distinct = np.unique(masks, axis=0)
    kept = [tuple(np.flatnonzero(mask)) for mask in distinct]
    prefixes = {sequence[: end + 1] for sequence in kept for end in range(len(sequence))}
    return MaskCounts(
        num_masks=len(distinct), num_kept=int(distinct.sum()), num_prefixes=len(prefixes)
    )


def separate_tokens(frame: Frame, counts: MaskCounts) -> float:
    """Tokens if every prompt with every response is one sequence of its own."""
    prompts = counts.num_masks * (frame.head + frame.tail + frame.response)
    return frame.num_responses * (prompts + counts.num_kept * frame.source)


def shared_tokens(frame: Frame, counts: MaskCounts) -> float:
    """Tokens if everything that two sequences begin with alike is computed once."""
    ends = frame.tail + frame.num_responses * frame.response
    return frame.head + counts.num_prefixes * frame.source + counts.num_masks * ends


def frame_of(
    template: PromptTemplate, *, query: float, source: float, characters_per_token: float
) -> Frame:
    """The frame of a prompt file for a query and sources of the given lengths in tokens.

    The few tokens that a chat template adds are left out.
    """

    def length(text: str) -> float:
        characters = len(text.replace("{query}", "").replace("{text}", ""))
        return characters / characters_per_token + query * text.count("{query}")

    before, _, after = template.with_sources.partition("{sources}")
    return Frame(
        head=length((template.system or "") + before),
        source=source + length(template.source + template.separator),
        tail=length(after),
    )
