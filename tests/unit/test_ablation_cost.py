import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxaudit.ablation import cost, masks
from ctxaudit.ablation.cost import Frame
from ctxaudit.prompts import PromptTemplate

FRAME = Frame(head=3, source=4, tail=2, response=5, num_responses=3)


def sequences(kept_sets, frame: Frame) -> list[tuple[str, ...]]:
    """Every prompt with every response, spelt as distinct tokens."""

    def part(name: str, length: float) -> list[str]:
        return [f"{name}{position}" for position in range(int(length))]

    return [
        (
            *part("head", frame.head),
            *(token for source in kept for token in part(f"source{source}_", frame.source)),
            *part("tail", frame.tail),
            *part(f"response{response}_", frame.response),
        )
        for kept in kept_sets
        for response in range(int(frame.num_responses))
    ]


def trie_size(spelt: list[tuple[str, ...]]) -> int:
    return len({sequence[:end] for sequence in spelt for end in range(1, len(sequence) + 1)})


def subsets(num_sources: int) -> list[tuple[int, ...]]:
    sizes = range(num_sources + 1)
    return [kept for size in sizes for kept in itertools.combinations(range(num_sources), size)]


@pytest.mark.parametrize("num_sources", [1, 2, 3, 5, 6])
def test_closed_form_of_all_subsets_is_the_size_of_a_brute_force_trie(num_sources: int):
    spelt = sequences(subsets(num_sources), FRAME)
    counts = cost.all_subsets(num_sources)
    assert cost.shared_tokens(FRAME, counts) == trie_size(spelt)
    assert cost.separate_tokens(FRAME, counts) == sum(map(len, spelt))


@settings(max_examples=40)
@given(st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=1, max_size=12))
def test_any_masks_cost_the_size_of_a_brute_force_trie(rows: list[list[bool]]):
    drawn = np.array(rows)
    kept = {tuple(np.flatnonzero(row)) for row in drawn}
    counts = cost.of_masks(drawn)
    assert cost.shared_tokens(FRAME, counts) == trie_size(sequences(kept, FRAME))
    assert cost.separate_tokens(FRAME, counts) == sum(map(len, sequences(kept, FRAME)))


@pytest.mark.parametrize("num_sources", [0, 1, 4, 7])
def test_closed_form_agrees_with_counting_the_masks(num_sources: int):
    assert cost.of_masks(masks.all_masks(num_sources)) == cost.all_subsets(num_sources)


def test_query_counts_where_it_stands_and_placeholders_do_not_count():
    template = PromptTemplate(
        chat=True,
        system="12345678",
        with_sources="abcd{sources}ab{query}cd",
        without_sources="{query}",
        source="xxxx{text}",
        separator="yyyy",
    )
    frame = cost.frame_of(template, query=10, source=20, characters_per_token=4)
    assert frame == Frame(head=3, source=22, tail=11)


def test_prompt_length_grows_by_a_source_each():
    assert FRAME.prompt(0) == 5
    assert FRAME.prompt(3) == 17
