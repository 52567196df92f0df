"""A model behind an OpenAI-compatible endpoint."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from typing import Any

from ctxaudit.config import EndpointModel
from ctxaudit.errors import UserError
from ctxaudit.llm.requests import ChatRequest, Completion, Finish

_MAX_RETRIES = 5
_SECONDS_TO_WAIT = 120.0
_FINISHES: dict[str, Finish] = {"stop": "stop", "length": "length", "content_filter": "refusal"}


class Endpoint:
    """Replies of a chat endpoint, one call after the other.

    The `openai` client retries rate limits, server errors and broken connections by itself.
    """

    def __init__(self, model: EndpointModel) -> None:
        self._model = model
        place = f"{model.base_url}\n{model.model}"
        self.digest = hashlib.sha256(place.encode()).hexdigest()

    def complete(
        self, requests: Sequence[ChatRequest], *, batch_size: int
    ) -> Iterator[tuple[int, Completion]]:
        """Position and reply of each request, in their order; `batch_size` has no effect.

        Raises:
            UserError: naming model and status, if a call fails after its retries.
        """
        client = self._open()
        for at, request in enumerate(requests):
            yield at, _completion(self._call(client, request))

    def _open(self) -> Any:
        import openai

        key = os.environ.get(self._model.key_variable)
        if not key:
            raise UserError(
                f"{self._model.model}: the environment variable {self._model.key_variable} holds "
                "no key; set it (any text will do for a local server that asks for none)"
            )
        return openai.OpenAI(
            api_key=key,
            base_url=self._model.base_url,
            max_retries=_MAX_RETRIES,
            timeout=_SECONDS_TO_WAIT,
        )

    def _call(self, client: Any, request: ChatRequest) -> Any:
        import openai

        # OpenAI's newer models refuse `max_tokens`; most compatible servers know nothing else.
        own = "api.openai.com" in self._model.base_url
        limit = {"max_completion_tokens" if own else "max_tokens": request.max_new_tokens}
        try:
            return client.chat.completions.create(
                model=self._model.model,
                messages=request.messages,
                temperature=request.temperature,
                **limit,
            )
        except openai.APIStatusError as error:
            fault = f"status {error.status_code}: {type(error).__name__}"
        except openai.APIError as error:
            fault = type(error).__name__
        # Not the server's own words: some repeat the key that they were sent.
        raise UserError(
            f"{self._model.model} at {self._model.base_url}: {fault}; what was answered before "
            "is kept, run again to go on"
        )


def _completion(reply: Any) -> Completion:
    usage = reply.usage
    tokens = (usage.prompt_tokens, usage.completion_tokens) if usage else (0, 0)
    if not reply.choices:
        return Completion(text="", finish="error", prompt_tokens=tokens[0])
    choice = reply.choices[0]
    text = choice.message.content or ""
    refusal = getattr(choice.message, "refusal", None)
    finish = "refusal" if refusal else _FINISHES.get(choice.finish_reason, "error")
    return Completion(
        text=refusal or text, finish=finish, prompt_tokens=tokens[0], new_tokens=tokens[1]
    )
