import itertools
from operator import eq

import numpy as np
import pytest

from ctxaudit import prompts
from ctxaudit.ablation.choices import choose_responses
from ctxaudit.ablation.masks import all_masks
from ctxaudit.ablation.plain import score_plain
from ctxaudit.ablation.store import ScoreStore
from ctxaudit.ablation.tables import score_ablations, score_answers
from ctxaudit.errors import UserError
from ctxaudit.interface import Answers, Example, Response, Source
from ctxaudit.prompts import PromptTemplate
from tests.unit import tiny_models

# Nats per token: what float32 sums in another order may differ by, with room.
TOLERANCE = 2e-4
TEMPLATE = PromptTemplate(
    chat=False, with_sources="w90 {sources} w91 {query}", without_sources="w92 {query}"
)


@pytest.fixture(scope="module")
def model():
    return tiny_models.llama()


def example(number, num_sources=2, choices=("w1 w2", "w7", "w8 w9 w3"), gold="w7"):
    sources = [
        Source(id=str(i), text=f"w{10 * number + i} w{40 + i} w{5 * i + 1}")
        for i in range(num_sources)
    ]
    return Example(
        id=f"q{number}",
        query=f"w3 w{number + 20}",
        sources=tuple(sources),
        task="multiple_choice",
        choices=choices,
        gold=gold,
    )


def one_by_one(model, prompt, response):
    ((_, values),) = score_plain(model, [(tuple(prompt), tuple(response))], batch_tokens=1)
    return values


def ablations(model, examples, responses, masks, **options):
    settings = {"template": TEMPLATE, "batch_tokens": 64, **options}
    return score_ablations(examples, responses, masks, model=model, **settings)


def answers(model, examples, masks, scoring="option_text", **options):
    settings = {"template": TEMPLATE, "batch_tokens": 64, "scoring": scoring, **options}
    return score_answers(examples, masks, model=model, **settings)


def test_each_row_is_the_response_under_its_mask_with_the_end_token_last(model):
    examples = [example(1), example(2, num_sources=3)]
    responses = [
        Response(example_id="q2", text="w5 w6", finish="stop"),
        Response(example_id="q1", text="w7", finish="choice"),
    ]
    masks = [all_masks(2)[[3, 0, 1]], all_masks(3)]
    tables = ablations(model, examples, responses, masks)
    assert [table.example_id for table in tables] == ["q1", "q2"]
    for item, table, mask, text in zip(examples, tables, masks, ["w7", "w5 w6"], strict=True):
        assert table.has_end_token
        np.testing.assert_array_equal(table.masks, mask)
        ids = prompts.response_ids(TEMPLATE, model.tokenizer, text)
        assert ids[-1] == model.tokenizer.eos_token_id
        for row, kept in zip(table.logprobs, mask, strict=True):
            prompt = prompts.masked_prompt_ids(TEMPLATE, model.tokenizer, item, kept)
            expected = one_by_one(model, prompt, ids)
            np.testing.assert_allclose(row, expected, rtol=0, atol=TOLERANCE)


def test_answers_hold_the_sum_over_each_options_tokens_without_the_end_token(model):
    item, mask = example(1), all_masks(2)
    (table,) = answers(model, [item], [mask])
    assert table.gold_index == 1
    assert table.scores.shape == (4, 3)
    for row, kept in zip(table.scores, mask, strict=True):
        prompt = prompts.masked_prompt_ids(TEMPLATE, model.tokenizer, item, kept)
        for score, choice in zip(row, item.choices, strict=True):
            ids = prompts.response_ids(TEMPLATE, model.tokenizer, choice)[:-1]
            expected = one_by_one(model, prompt, ids).sum()
            assert score == pytest.approx(expected, abs=TOLERANCE * len(ids))


def test_letters_are_scored_with_the_options_listed_after_the_query(model):
    seen = []

    class Recording:
        eos_token_id = model.tokenizer.eos_token_id

        def __call__(self, text, **kwargs):
            seen.append(text)
            return model.tokenizer(text, **kwargs)

    recorded = type(model)(model.load_network, Recording(), model.digest, model.max_tokens)
    (table,) = answers(recorded, [example(1)], [all_masks(2)], scoring="letter")
    assert {"A", "B", "C"} <= set(seen)
    assert "w92 w3 w21\nA. w1 w2\nB. w7\nC. w8 w9 w3" in seen
    assert table.scores.shape == (4, 3)


def test_tables_do_not_depend_on_batch_size_grouping_or_store(model, monkeypatch, tmp_path):
    examples = [example(number) for number in range(1, 6)]
    masks = [all_masks(2)] * 5
    together = answers(model, examples, masks)
    monkeypatch.setattr("ctxaudit.ablation.tables._GROUP_TOKENS", 90)
    for _ in range(2):
        with ScoreStore(tmp_path, "s" * 64) as store:
            apart = answers(model, examples, masks, batch_tokens=16, store=store)
        for one, other in zip(together, apart, strict=True):
            assert one.example_id == other.example_id
            np.testing.assert_allclose(one.scores, other.scores, rtol=0, atol=3 * TOLERANCE)


def test_the_chosen_response_is_the_best_option_under_the_full_context():
    item = example(1)
    scores = np.array([[0.0, -1, -2], [-3, -2, -1], [-2, -1, -3], [-2, -1, -1.5]])
    table = Answers(example_id="q1", masks=all_masks(2), scores=scores, gold_index=1)
    assert choose_responses([item], [table]) == [
        Response(example_id="q1", text="w7", finish="choice")
    ]


def test_choosing_needs_the_full_context():
    table = Answers(example_id="q1", masks=all_masks(2)[:3], scores=np.zeros((3, 3)), gold_index=1)
    with pytest.raises(UserError, match="'q1': the full context"):
        choose_responses([example(1)], [table])


def test_a_missing_response_is_named(model):
    other = Response(example_id="q9", text="w1", finish="stop")
    with pytest.raises(UserError, match=r"no response for .*q1"):
        ablations(model, [example(1)], [other], [all_masks(2)])


def test_two_responses_to_one_example_are_refused(model):
    twice = [Response(example_id="q1", text="w1", finish="stop")] * 2
    with pytest.raises(UserError, match="unique"):
        ablations(model, [example(1)], twice, [all_masks(2)])


def test_gold_outside_the_choices_is_refused(model):
    with pytest.raises(UserError, match="'q1': gold: 'w4'"):
        answers(model, [example(1, gold="w4")], [all_masks(2)])


def test_more_options_than_letters_are_refused(model):
    choices = tuple(f"w{number}" for number in range(1, 28))
    with pytest.raises(UserError, match="27 options"):
        answers(model, [example(1, choices=choices)], [all_masks(2)], scoring="letter")


def test_an_overlong_prompt_of_the_last_example_stops_before_the_first_is_scored(
    model, monkeypatch, tmp_path
):
    monkeypatch.setattr("ctxaudit.ablation.tables._GROUP_TOKENS", 1)
    examples = [example(1), example(2, num_sources=30)]
    responses = [Response(example_id=item.id, text="w1", finish="stop") for item in examples]
    masks = [all_masks(2), np.eye(31, 30, dtype=bool) ^ True]
    with (
        ScoreStore(tmp_path, "s" * 64) as store,
        pytest.raises(UserError, match=r"example 'q2'.*window holds 64"),
    ):
        ablations(model, examples, responses, masks, store=store)
    assert not list(tmp_path.rglob("*.parquet"))


def test_subsets_are_scored_in_the_order_in_which_they_share_most(model, monkeypatch):
    seen = []

    def record(model, requests, *, batch_tokens, store):
        seen.extend(request.prompt for request in requests)
        return [np.zeros(len(request.response), dtype=np.float32) for request in requests]

    monkeypatch.setattr("ctxaudit.ablation.tables.score", record)
    monkeypatch.setattr("ctxaudit.ablation.tables._GROUP_TOKENS", 1)
    response = Response(example_id="q1", text="w1", finish="stop")
    ablations(model, [example(1, num_sources=4)], [response], [all_masks(4)])
    assert len(seen) == 16

    def new_tokens(order):
        shared = (
            sum(itertools.accumulate(map(eq, one, other), lambda a, b: a and b))
            for one, other in itertools.pairwise(order)
        )
        return sum(map(len, order)) - sum(shared)

    assert new_tokens(seen) == new_tokens(sorted(seen))
