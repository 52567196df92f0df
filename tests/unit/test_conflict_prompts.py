"""What the conflict study's prompt files show of a question and its evidence."""

from pathlib import Path

import pytest

from ctxaudit import prompts

FOLDER = Path(__file__).parents[2] / "config" / "prompts"
REASONING = ["conflict_reasoning", "single_reasoning"]
SUMMARIZATION = ["conflict_summarization", "single_summarization"]
QUERY = "Who keeps the light?"


def shown(name, sources):
    return prompts.text(prompts.read(FOLDER / f"{name}.yaml"), QUERY, sources)


@pytest.mark.parametrize("name", [*REASONING, *SUMMARIZATION, "balance_scorer"])
def test_question_and_evidence_are_shown_verbatim_and_nothing_else_without_evidence(name):
    full = shown(name, ["Oda {query}.", "Brann {sources}."])
    assert full.index("Oda {query}.") < full.index("Brann {sources}.") < full.index(QUERY)
    bare = shown(name, [])
    assert QUERY in bare
    assert "evidence" not in bare.lower()
    assert "{" not in bare


@pytest.mark.parametrize("name", ["conflict_reasoning", "conflict_summarization"])
def test_combined_evidence_is_numbered(name):
    assert "[Evidence 1]: Oda.\n[Evidence 2]: Brann.\n" in shown(name, ["Oda.", "Brann."])


@pytest.mark.parametrize("name", ["single_reasoning", "single_summarization"])
def test_single_evidence_has_no_number(name):
    assert shown(name, ["Oda."]).startswith("[Evidence]: Oda.\n")


@pytest.mark.parametrize("name", REASONING)
def test_reasoning_prompts_ask_for_a_tagged_answer(name):
    for sources in ([], ["Oda."]):
        assert "<answer></answer>" in shown(name, sources)


def test_the_scorer_reads_plain_text_that_a_response_can_follow():
    template = prompts.read(FOLDER / "balance_scorer.yaml")
    assert not template.chat
    assert shown("balance_scorer", []) == f"Question: {QUERY}\nAnswer:"
    assert template.response_prefix == " "


def test_both_reasoning_prompts_share_their_system_message():
    systems = {prompts.read(FOLDER / f"{name}.yaml").system for name in REASONING}
    assert len(systems) == 1
