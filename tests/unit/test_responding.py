import pytest

from ctxaudit import responding
from ctxaudit.config.conflict import Generation
from ctxaudit.errors import UserError
from ctxaudit.generation import generate
from ctxaudit.interface import Example, Source
from ctxaudit.llm.client import Client
from ctxaudit.llm.in_process import InProcess
from ctxaudit.llm.requests import Completion
from ctxaudit.llm.store import ResponseStore
from ctxaudit.prompts import PromptTemplate
from tests.unit import tiny_models

TEMPLATES = {
    "reasoning": PromptTemplate(
        chat=False,
        with_sources="w2 {sources} w3 {query}",
        without_sources="w3 {query}",
        separator=" ",
    ),
    "summarization": PromptTemplate(
        chat=False, with_sources="{query} {sources}", without_sources="{query}", separator=" "
    ),
}
SETTINGS = Generation(max_new_tokens=5, batch_size=2)


def example(name, *texts, task="reasoning", part="test", twin="conflict", kind="temporal"):
    return Example(
        id=name,
        query="w9",
        sources=tuple(Source(id=f"{name}{n}", text=text) for n, text in enumerate(texts)),
        task=task,
        gold="w1",
        tags={"part": part, "twin": twin, "conflict_type": kind},
    )


EXAMPLES = [
    example("a", "w10 w11", "w12"),
    example("b", "w20", task="summarization"),
    example("c", "w30 w31 w32", "w33", "w34"),
]


def test_prompts_hold_all_or_one_piece_of_evidence():
    tokenizer = tiny_models.tokenizer()
    assert responding.combined_prompt(EXAMPLES[0], TEMPLATES, tokenizer) == [2, 10, 11, 12, 3, 9]
    assert responding.combined_prompt(EXAMPLES[1], TEMPLATES, tokenizer) == [9, 20]
    assert responding.single_prompts(EXAMPLES[0], TEMPLATES, tokenizer) == [
        [2, 10, 11, 3, 9],
        [2, 12, 3, 9],
    ]


def client(model, folder) -> Client:
    return Client("tiny", InProcess("d" * 64, lambda: model), ResponseStore(folder))


def test_responses_are_what_generation_gives_and_are_asked_for_once(tmp_path):
    model = tiny_models.llama()
    prompts = [responding.combined_prompt(e, TEMPLATES, model.tokenizer) for e in EXAMPLES]
    expected = generate(model, prompts, max_new_tokens=5, batch_size=1)
    settings = {"templates": TEMPLATES, "settings": SETTINGS}
    found = responding.respond(EXAMPLES, client(model, tmp_path), **settings)
    assert [item.example_id for item in found] == ["a", "b", "c"]
    assert [(item.text, item.finish) for item in found] == [
        (item.text, item.finish) for item in expected
    ]
    assert responding.respond(EXAMPLES, client(None, tmp_path), **settings) == found


def test_a_chat_prompt_is_asked_as_its_messages(tmp_path):
    asked = []

    class Recording(InProcess):
        def complete(self, calls, store, *, batch_size):
            asked.extend(call.request for call in calls)
            return [Completion(text="", finish="refusal") for _ in calls]

    chat = {"reasoning": TEMPLATES["reasoning"].model_copy(update={"chat": True, "system": "Sir"})}
    backend = Recording("d" * 64, lambda: None)
    (found,) = responding.respond(
        EXAMPLES[:1],
        Client("tiny", backend, ResponseStore(tmp_path)),
        templates=chat,
        settings=SETTINGS,
    )
    assert found.finish == "refusal"
    assert [request.messages for request in asked] == [
        [{"role": "system", "content": "Sir"}, {"role": "user", "content": "w2 w10 w11 w12 w3 w9"}]
    ]
    assert asked[0].chat
    assert asked[0].max_new_tokens == 5


def test_an_example_without_evidence_is_named_before_anything_is_asked(tmp_path):
    with pytest.raises(UserError, match="example 'd': no sources"):
        responding.respond(
            [*EXAMPLES, example("d")],
            client(None, tmp_path),
            templates=TEMPLATES,
            settings=SETTINGS,
        )


def test_the_subset_is_of_conflicts_in_the_test_part_and_only_grows():
    examples = [
        example(f"{kind}{n}", "w5", kind=kind, part=part, twin=twin)
        for kind in ("temporal", "ambiguity")
        for n, (part, twin) in enumerate(
            [("test", "conflict")] * 6 + [("test", "consistent"), ("calibration", "conflict")]
        )
    ]
    chosen = {n: responding.test_subset(examples, n, seed=3) for n in (2, 4, None)}
    assert [len(found) for found in chosen.values()] == [4, 8, 12]
    assert {e.id for e in chosen[2]} < {e.id for e in chosen[4]} < {e.id for e in chosen[None]}
    assert all(int(e.id[-1]) < 6 for e in chosen[None])
    assert responding.test_subset(examples[::-1], 2, seed=3) == chosen[2]
    assert responding.test_subset(examples, 2, seed=4) != chosen[2]
