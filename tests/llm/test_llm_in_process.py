from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from ctxaudit import prompts
from ctxaudit.errors import UserError
from ctxaudit.llm import requests
from ctxaudit.llm.in_process import InProcess
from ctxaudit.llm.rating import expectation
from ctxaudit.llm.requests import ChatRequest, Completion
from ctxaudit.llm.store import ResponseStore
from ctxaudit.models import LanguageModel
from tests.unit.tiny_models import llama

Answer = Callable[..., list[Completion]]


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    tiny = llama()
    tiny.tokenizer.chat_template = "{% for m in messages %}{{ m.content }} {% endfor %}"
    return tiny


def request(text: str, **changes: object) -> ChatRequest:
    options = {"max_new_tokens": 5, **changes}
    return ChatRequest(model="m", messages=[{"role": "user", "content": text}], **options)


@pytest.fixture
def answer(tmp_path: Path) -> Answer:
    def complete(model: LanguageModel, asked: list[ChatRequest]) -> list[Completion]:
        backend = InProcess("d", lambda: model)
        calls = [requests.call(request, backend.identity) for request in asked]
        return backend.complete(calls, ResponseStore(tmp_path), batch_size=2)

    return complete


def test_closed_answers_are_scored_with_their_end_token(model: LanguageModel, answer: Answer):
    asked = request("w5 w6 w7", choices=("w8", "w8 w9"))
    (reply,) = answer(model, [asked])
    expected = []
    for choice in ([8, 0], [8, 9, 0]):
        ids = torch.tensor([[5, 6, 7, *choice]])
        logprobs = model.network(ids).logits[0].detach().float().log_softmax(-1)
        expected.append(sum(float(logprobs[2 + i, token]) for i, token in enumerate(choice)))
    # float32 against a pass without shared prefixes.
    np.testing.assert_allclose(reply.choice_logprobs, expected, atol=1e-4)
    assert reply.text == asked.choices[int(np.argmax(expected))]
    weights = np.exp(expected) / np.exp(expected).sum()
    assert expectation(reply.choice_logprobs, 0) == pytest.approx(weights[1], abs=1e-4)


def test_free_and_closed_requests_keep_their_places_and_limits(
    model: LanguageModel, answer: Answer
):
    asked = [request("w5 w6"), request("w7", choices=("w1", "w2")), request("w9", max_new_tokens=2)]
    replies = answer(model, asked)
    assert [bool(replies[at].choice_logprobs) for at in range(3)] == [False, True, False]
    assert replies[0].new_tokens <= 5
    assert replies[2].new_tokens <= 2


def test_sampling_and_a_model_without_chat_template_are_refused(
    model: LanguageModel, answer: Answer
):
    with pytest.raises(UserError, match=r"sampling \{'temperature': 0.7\}"):
        answer(model, [request("w5", sampling={"temperature": 0.7})])
    with pytest.raises(UserError, match="no chat template"):
        prompts.chat_ids(llama().tokenizer, [{"role": "user", "content": "w5"}])


def test_a_plain_request_is_continued_without_a_chat_template(answer: Answer):
    plain = llama()
    assert not plain.tokenizer.chat_template
    asked = request("w5 w6 w7", choices=("w8", "w9"), chat=False)
    (reply,) = answer(plain, [asked])
    logits = plain.network(torch.tensor([[5, 6, 7, 8, 0]])).logits[0].detach()
    logprobs = logits.log_softmax(-1)
    expected = float(logprobs[2, 8] + logprobs[3, 0])
    # float32 against a pass without shared prefixes.
    assert reply.choice_logprobs[0] == pytest.approx(expected, abs=1e-4)
