"""Which evidence the consistent twin of each conflict type keeps."""

import itertools
import json

import pytest

from ctxaudit import plugins
from ctxaudit.errors import UserError
from ctxaudit.interface import Example, Source


def example(labels, *, attribute="", accurate=None, **fields):
    sources = tuple(
        Source(
            id=f"source_{number}",
            text=f"Piece {number}.",
            accurate=None if accurate is None else accurate[number - 1],
            attributes={attribute: value} if attribute else {},
        )
        for number, value in enumerate(labels, start=1)
    )
    record = {"id": "x-1", "query": "Which?", "task": "reasoning", "sources": sources, "group": "g"}
    record["tags"] = {"original_answer": "True"}
    return Example(**{**record, **fields})


def kept(conflict_type, conflict):
    twin = plugins.load("conflict", conflict_type).consistent_twin(conflict)
    return [int(source.id.removeprefix("source_")) for source in twin.sources]


def test_misinformation_keeps_what_is_accurate():
    assert kept("misinformation", example("abcd", accurate=[False, True, False, True])) == [2, 4]


def test_inferential_keeps_the_original_chain_wherever_it_stands():
    labels = ["original", "conflicting", "original", "conflicting"]
    assert kept("inferential", example(labels, attribute="branch")) == [1, 3]


def test_inferential_twin_has_the_answer_that_holds_without_the_branch():
    build = plugins.load("conflict", "inferential").consistent_twin
    labels = {"labels": ["original", "conflicting"], "attribute": "branch", "gold": "Uncertain"}
    tags = {"gold_all": '["Uncertain"]', "original_answer": "True"}
    twin = build(example(**labels, tags=tags))
    assert twin.gold == "True"
    assert json.loads(twin.tags["gold_all"]) == ["True"]
    with pytest.raises(UserError, match="x-1: original_answer"):
        build(example(**labels, tags={"gold_all": '["Uncertain"]'}))


def test_temporal_is_anchored_on_the_time_of_the_accurate_pieces():
    times = ["1398", "1411", "1411", "1420"]
    conflict = example(times, attribute="time", accurate=[False, True, True, False])
    assert kept("temporal", conflict) == [2, 3]


def test_temporal_takes_one_time_where_accurate_pieces_have_several():
    times = ["1411", "1415", "1415", "1415"]
    conflict = example(times, attribute="time", accurate=[True, True, True, False])
    assert kept("temporal", conflict) == [2, 3]


GROUPED = {"granularity": "level", "perspective": "stance", "ambiguity": "entity"}


@pytest.mark.parametrize(("conflict_type", "attribute"), GROUPED.items())
def test_the_largest_group_is_kept_in_its_order(conflict_type, attribute):
    assert kept(conflict_type, example("abcbab", attribute=attribute)) == [2, 4, 6]


@pytest.mark.parametrize(("conflict_type", "attribute"), GROUPED.items())
def test_among_equal_groups_the_choice_does_not_depend_on_the_order(conflict_type, attribute):
    chosen = set()
    for labels in itertools.permutations(["a", "b", "c"]):
        [number] = kept(conflict_type, example(labels, attribute=attribute))
        chosen.add(labels[number - 1])
    assert len(chosen) == 1


def test_among_equal_groups_neither_label_is_favoured_over_many_instances():
    num_first = sum(
        kept("perspective", example(["oppose", "support"], attribute="stance", group=f"g{n}"))
        == [1]
        for n in range(400)
    )
    # Binomial(400, 1/2) has a standard deviation of 10; 50 is five of them.
    assert abs(num_first - 200) < 50


ACCURATE_TYPES = ["misinformation", "temporal"]


@pytest.mark.parametrize("conflict_type", plugins.available("conflict"))
def test_missing_labels_are_an_error_that_names_the_instance(conflict_type):
    with pytest.raises(UserError, match=r"x-1: source_1 has no \w+ label"):
        kept(conflict_type, example("ab"))


@pytest.mark.parametrize("conflict_type", ACCURATE_TYPES)
@pytest.mark.parametrize("accurate", [[True, True], [False, False]])
def test_accuracy_labels_that_show_no_conflict_are_an_error(conflict_type, accurate):
    with pytest.raises(UserError, match="x-1"):
        kept(conflict_type, example(["1", "1"], attribute="time", accurate=accurate))


@pytest.mark.parametrize(
    ("conflict_type", "attribute"), [("inferential", "branch"), *GROUPED.items()]
)
def test_equal_labels_that_show_no_conflict_are_an_error(conflict_type, attribute):
    with pytest.raises(UserError, match=r"x-1.*all 2 sources"):
        kept(conflict_type, example(["original", "original"], attribute=attribute))


def test_a_branch_of_another_name_is_an_error_with_the_allowed_ones():
    with pytest.raises(UserError, match=r"x-1: source_2 .*'orignal'; allowed: original, conf"):
        kept("inferential", example(["original", "orignal"], attribute="branch"))


def test_only_a_conflicting_branch_leaves_nothing_to_keep():
    with pytest.raises(UserError, match=r"x-1.*no source"):
        kept("inferential", example(["conflicting"] * 2, attribute="branch"))
