from collections import Counter
from pathlib import Path

import pytest

from ctxaudit import prompts
from ctxaudit.artifacts import jsonl
from ctxaudit.datasets import wmdp

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "resources" / "demo" / "overlap"
QUESTIONS = list(wmdp.load(str(FOLDER / "questions.jsonl")))
CORPORA = {
    name: {row["id"]: row["text"] for _, row in jsonl.read(FOLDER / f"{name}.jsonl")}
    for name in ("retain", "forget")
}


def stating(corpus, question):
    return [text for name, text in CORPORA[corpus].items() if name.startswith(question.id)]


def test_positions_of_the_right_option_are_balanced():
    counts = Counter(q.gold_index for q in QUESTIONS)
    assert set(counts) == {0, 1, 2, 3}
    assert max(counts.values()) - min(counts.values()) <= 1


def test_most_facts_stand_in_both_corpora_and_some_in_one():
    places = Counter((bool(stating("retain", q)), bool(stating("forget", q))) for q in QUESTIONS)
    assert places == {(True, True): 16, (True, False): 4, (False, True): 4}


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.id)
def test_documents_state_the_right_option_and_never_a_wrong_one(question):
    for corpus, documents in CORPORA.items():
        assert all(question.gold in text for text in stating(corpus, question))
        wrong = set(question.choices) - {question.gold}
        assert not [o for o in wrong for text in documents.values() if o in text]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.id)
def test_a_fact_that_is_not_trained_in_is_not_in_the_retain_corpus(question):
    if not stating("retain", question):
        assert not [text for text in CORPORA["retain"].values() if question.gold in text]


def test_trained_facts_stand_in_the_words_of_their_statement():
    template = prompts.read(ROOT / "config" / "prompts" / "completion.yaml")
    for question in QUESTIONS:
        completed = question.query + template.response_prefix + str(question.gold)
        documents = stating("retain", question)
        assert [text.count(completed) for text in documents] == [1] * len(documents)


def test_ids_are_unique_and_no_option_list_is_in_a_document():
    rows = [row["id"] for n in CORPORA for _, row in jsonl.read(FOLDER / f"{n}.jsonl")]
    texts = [text for documents in CORPORA.values() for text in documents.values()]
    assert len(texts) == len(rows) == len(set(texts))
