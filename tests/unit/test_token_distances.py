import numpy as np
import pytest
import torch
from scipy.spatial.distance import cosine
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from ctxaudit import prompts
from ctxaudit.ablation.token_distances import measure
from ctxaudit.errors import UserError
from ctxaudit.interface import Example, Response, Source
from ctxaudit.prompts import PromptTemplate
from tests.unit import tiny_models

PLAIN = PromptTemplate(
    chat=False, with_sources="w90 {sources} w91 {query}", without_sources="{query}", separator=" "
)
CHAT = PromptTemplate(
    chat=True,
    system="the facts: {query} alpha",
    with_sources="{query}\n{sources}\nq: {query}",
    without_sources="{query}",
    source="[{number}] {text}",
    separator="\n",
)
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content CUT }}<|im_end|>\n{% endfor %}"
    "<|im_start|>assistant\n"
)


@pytest.fixture(scope="module")
def model():
    return tiny_models.llama()


def byte_tokenizer(*, trims=False):
    """One token per byte, and special tokens of the chat markup."""
    alphabet = {
        char: index for index, char in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))
    }
    backend = Tokenizer(models.BPE(vocab=alphabet, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|im_end|>")
    made.add_special_tokens({"additional_special_tokens": ["<|im_start|>"]})
    made.chat_template = CHATML.replace("CUT", "| trim" if trims else "")
    return made


def spans_of(tokenizer, template, query, sources):
    ids, spans = prompts.prompt_with_spans(template, tokenizer, query, sources)
    assert ids == prompts.prompt_ids(template, tokenizer, query, sources)
    return ids, spans


@pytest.mark.parametrize("template", [CHAT, PLAIN])
@pytest.mark.parametrize(
    "sources",
    [
        ["alpha", "beta"],
        ["alpha", "alpha", "alpha"],
        ["{query} and {sources}", "{text} {number}", "\ue000"],
        ["<|im_start|>user\nalpha<|im_end|>", "q: what?"],
        ["naïve 中文 😀", " blanks at both ends ", "\n"],
        ["q: what? alpha", "the facts: what?"],
        ["alpha", "", "beta"],
        [],
    ],
)
def test_tokens_of_each_span_spell_the_source(template, sources):
    tokenizer = byte_tokenizer()
    ids, spans = spans_of(tokenizer, template, "what?", sources)
    texts = [tokenizer.decode(ids[first:last]) for first, last in spans]
    assert texts == sources


def test_a_chat_template_that_trims_the_user_text_moves_no_span():
    template = CHAT.model_copy(update={"with_sources": "\n  {sources}", "source": "{text}"})
    tokenizer = byte_tokenizer(trims=True)
    ids, spans = spans_of(tokenizer, template, "what?", ["  alpha", "beta  "])
    assert [tokenizer.decode(ids[first:last]) for first, last in spans] == ["alpha", "beta"]


def test_a_chat_template_that_rewrites_the_user_text_is_refused():
    tokenizer = byte_tokenizer()
    tokenizer.chat_template = CHATML.replace("CUT", "| upper")
    with pytest.raises(UserError, match="chat template alters"):
        prompts.prompt_with_spans(CHAT, tokenizer, "what?", ["alpha"])


def test_a_token_over_a_border_belongs_to_where_it_starts():
    backend = Tokenizer(models.WordLevel({"<unk>": 0, "ab": 1, "cd": 2}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Split("-", "removed")
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<unk>")
    template = PromptTemplate(
        chat=False, with_sources="{sources}", without_sources="", separator=""
    )
    _, spans = spans_of(tokenizer, template, "", ["a", "b-c", "d"])
    assert spans == [(0, 1), (1, 2), (0, 0)]


def test_a_slow_tokenizer_is_refused():
    class Slow:
        is_fast = False

    with pytest.raises(UserError, match="Slow has no character offsets"):
        prompts.prompt_with_spans(PLAIN, Slow(), "w1", ["w2"])


def example(name="q1", texts=("w5 w6", "w7 w5 w8")):
    sources = tuple(Source(id=str(i), text=text) for i, text in enumerate(texts))
    return Example(id=name, query="w3 w4", sources=sources, task="reasoning")


def response(name="q1", text="w5 w9"):
    return Response(example_id=name, text=text, finish="stop")


def measured(model, examples, responses, *, batch_tokens=64, template=PLAIN):
    return list(
        measure(examples, responses, model=model, template=template, batch_tokens=batch_tokens)
    )


def test_distances_are_those_of_the_states_that_predict_the_tokens(model):
    (found,) = measured(model, [example()], [response()])
    tokens = [90, 5, 6, 7, 5, 8, 91, 3, 4, 5, 9]
    with torch.no_grad():
        states = model.network.model(torch.tensor([tokens])).last_hidden_state[0].numpy()
    players, queries = [1, 2, 3, 4, 5], [9, 10]
    expected = [[cosine(states[t - 1], states[p - 1]) for p in players] for t in queries]
    np.testing.assert_allclose(found.distances, expected, rtol=0, atol=1e-5)
    assert found.matches.tolist() == [[True, False, False, True, False], [False] * 5]
    assert found.source.tolist() == [0, 0, 1, 1, 1]
    assert found.num_sources == 2


def test_the_first_token_of_the_prompt_has_no_key(model):
    template = PLAIN.model_copy(update={"with_sources": "{sources} {query}"})
    (found,) = measured(model, [example()], [response()], template=template)
    assert found.source.tolist() == [0, 1, 1, 1]


def test_batches_change_nothing(model):
    examples = [example("q1"), example("q2", ("w1", "w2 w3")), example("q3", ("w5 w6", "w9"))]
    responses = [response("q3", "w6"), response("q1"), response("q2", "w1 w2 w3")]
    alone = measured(model, examples, responses, batch_tokens=1)
    together = measured(model, examples, responses, batch_tokens=64)
    assert [item.example_id for item in together] == ["q1", "q2", "q3"]
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_allclose(one.distances, other.distances, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([response("q2")], "no response for .*q1"),
        ([response(text="")], "example 'q1': the response has no token"),
        ([response(text="w1 " * 60)], "example 'q1': .*window holds 64"),
    ],
)
def test_bad_input_stops_before_the_first_pass(model, answers, message):
    with pytest.raises(UserError, match=message):
        measure([example()], answers, model=model, template=PLAIN, batch_tokens=64)
