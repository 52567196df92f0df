from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxaudit import prompts
from ctxaudit.config.overlap import Smoothing
from ctxaudit.corpora import segments, smoothing
from ctxaudit.interface import Example, Source
from ctxaudit.llm.requests import ChatRequest, Completion
from ctxaudit.prompts import TaskPrompt

ROOT = Path(__file__).parents[2]
FERRY = "The Ibbeth ferry is pulled by grey oxen."
FARE = "A passenger pays with 2 clay beads."
SETTINGS = Smoothing(generator="g", prompt="p")
PROMPT = TaskPrompt(user="{segments}")


class Generator:
    """Gives the replies it was told to."""

    name = "g"

    def __init__(self, *replies: str, finish: str = "stop") -> None:
        self.replies = [Completion(text=text, finish=finish) for text in replies]

    def complete(self, requests: Sequence[ChatRequest], *, batch_size: int) -> list[Completion]:
        self.asked = [request.messages[-1]["content"] for request in requests]
        return self.replies


def example(*texts: str) -> Example:
    labels = ["iw", "icl"] * len(texts)
    sources = tuple(
        Source(id=f"s{n}", text=text, provenance=labels[n]) for n, text in enumerate(texts)
    )
    return Example(id="q", query="?", sources=sources, task="multiple_choice", tags={"a": "b"})


def smooth(reply: str, **changes: Any) -> Example:
    generator: Any = Generator(reply, **changes)
    (found,) = smoothing.smooth([example(FERRY, FARE)], generator, PROMPT, SETTINGS)
    return found


def test_a_transition_belongs_to_the_segment_after_it_and_labels_stay():
    found = smooth(f"[[1]] {FERRY} [[/1]] To cross, one must pay: [[2]] {FARE} [[/2]]")
    assert [s.text for s in found.sources] == [FERRY, f"To cross, one must pay: {FARE}"]
    assert [(s.id, s.provenance) for s in found.sources] == [("s0", "iw"), ("s1", "icl")]
    ended = {"smoothed": "yes", "smoothing_fault": "", "smoothing_outcome": "valid"}
    assert found.tags == {"a": "b", **ended}


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        (f"{FERRY} {FARE}", "markers lost"),
        (f"[[1]] {FERRY} [[/1]] [[2]] {FARE}", "markers lost"),
        (f"[[2]] {FARE} [[/2]] [[1]] {FERRY} [[/1]]", "markers lost"),
        (f"[[1]] {FERRY} [[/1]] [[2]] [[/2]]", "markers lost"),
        (f"[[1]] {FERRY} [[/1]] [[2]] {FARE} [[/2]] [[2]] x [[/2]]", "markers lost"),
        (f"[[1]] {FERRY} [[/1]] [[2]] {FARE} [[/2]] I hope this helps!", "markers lost"),
        (f"Sure! [[1]] {FERRY} [[/1]] [[2]] {FARE} [[/2]]", "markers lost"),
        (f"[[1]] It is pulled. [[/1]] [[2]] {FARE} [[/2]]", "facts lost"),
        (f"[[1]] {FERRY} [[/1]] Since 1804 [[2]] {FARE} [[/2]]", "information added"),
        (f"[[1]] {FERRY} [[/1]] So says Maren, [[2]] {FARE} [[/2]]", "information added"),
    ],
)
def test_a_reply_that_fails_a_check_leaves_the_plain_segments(reply: str, fault: str):
    found = smooth(reply)
    assert found.sources == example(FERRY, FARE).sources
    assert found.tags["smoothed"] == "no"
    assert found.tags["smoothing_fault"] == fault
    outcome = "unparsable" if fault == "markers lost" else "invalid"
    assert found.tags["smoothing_outcome"] == outcome


@pytest.mark.parametrize("finish", ["length", "refusal", "error"])
def test_a_reply_that_did_not_end_by_itself_leaves_the_plain_segments(finish: str):
    found = smooth(f"[[1]] {FERRY} [[/1]] [[2]] {FARE} [[/2]]", finish=finish)
    assert found.sources == example(FERRY, FARE).sources
    assert found.tags["smoothed"] == "no"
    assert found.tags["smoothing_fault"] == f"reply ended by {finish}"
    assert found.tags["smoothing_outcome"] == finish


def test_what_cannot_be_marked_is_not_asked():
    generator: Any = Generator()
    found = smoothing.smooth(
        [example(FERRY), example(FERRY, "holds [[1]]")], generator, PROMPT, SETTINGS
    )
    assert [e.tags["smoothing_fault"] for e in found] == [
        "fewer than two segments",
        "a segment holds a marker",
    ]
    assert {e.tags["smoothing_outcome"] for e in found} == {""}
    assert generator.asked == []


@given(st.lists(st.text("ab {}[]/1", min_size=1).filter(str.strip), min_size=1, max_size=12))
def test_marked_segments_are_read_back(texts: list[str]):
    if not any(segments.holds_marker(text) for text in texts):
        marked = segments.mark(texts)
        assert segments.unmark(marked, len(texts)) == [text.strip() for text in texts]


def test_recall_counts_content_words_once():
    # ibbeth, ferry, pulled, grey, oxen and the capitalised "The": 4 of 6 are kept.
    assert segments.fact_recall(FERRY, "the grey ferry of Ibbeth") == pytest.approx(4 / 6)
    assert segments.fact_recall("it is so", "") == 1.0


def test_the_prompt_of_the_configuration_shows_the_segments():
    prompt = prompts.read_task(ROOT / "config/prompts/smooth.yaml")
    assert FERRY in prompts.task_messages(prompt, {"segments": FERRY})[-1]["content"]


def test_a_chosen_number_is_smoothed_and_the_rest_is_counted_as_not_asked_for():
    texts = [example(FERRY, FARE), replace(example(FERRY, FARE), id="other")]
    generator: Any = Generator(f"[[1]] {FERRY} [[/1]] [[2]] {FARE} [[/2]]")
    few = SETTINGS.model_copy(update={"num_examples": 1})
    found = smoothing.smooth(texts, generator, PROMPT, few)
    assert len(generator.asked) == 1
    assert sorted(e.tags["smoothing_fault"] for e in found) == ["", "not asked for"]
    generator = Generator(f"[[1]] {FERRY} [[/1]] [[2]] {FARE} [[/2]]")
    again = smoothing.smooth(texts[::-1], generator, PROMPT, few)
    assert {e.id: e.tags for e in again} == {e.id: e.tags for e in found}
