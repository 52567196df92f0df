"""One attempt at a call of an OpenAI-compatible endpoint."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from ctxaudit.config.endpoint import EndpointModel
from ctxaudit.errors import UserError
from ctxaudit.llm import faults, redaction, wire
from ctxaudit.llm.faults import CallError
from ctxaudit.llm.requests import Answer, Call, ChatRequest, Completion

_CHARACTERS_SHOWN = 80


class Endpoint:
    """A model behind an endpoint; nothing is opened before `connection`."""

    def __init__(self, model: EndpointModel) -> None:
        self.model = model

    @asynccontextmanager
    async def connection(self) -> AsyncIterator["Connection"]:
        """An open client.

        Raises:
            UserError: naming the variable, if the environment holds no key.
        """
        import openai

        key = redaction.read_key(os.environ, self.model.key_variable, self.model.model)
        async with openai.AsyncOpenAI(
            api_key=key,
            base_url=self.model.base_url,
            # Tries are counted, paced and reserved by us.
            max_retries=0,
            timeout=self.model.traffic.timeout_seconds,
        ) as client:
            yield Connection(self.model, client, key)


class Connection:
    """Sends calls over an open client."""

    def __init__(self, model: EndpointModel, client: Any, key: str) -> None:
        self._model = model
        self._client = client
        self._key = key

    async def call(self, request: ChatRequest) -> Answer:
        """The reply to a request.

        Raises:
            CallError: if there is none.
        """
        import openai

        fields = wire.body(request, self._model)
        messages, model = fields.pop("messages"), fields.pop("model")
        try:
            # The client's limit is per read; a body that trickles in is bounded here.
            async with asyncio.timeout(self._model.traffic.timeout_seconds):
                reply = await self._client.chat.completions.with_raw_response.create(
                    model=model, messages=messages, extra_body=fields
                )
            return wire.read(redaction.redact(json.loads(reply.text), self._key))
        except TimeoutError:
            raise CallError("timeout", "no reply in time", billed=True) from None
        except (openai.OpenAIError, ValueError, RecursionError) as error:
            raise faults.classify(error, [*fields], self._key) from None


def check_name(completion: Completion, model: EndpointModel) -> None:
    """See that the model that answered is the one that was asked.

    It is seen whenever a reply is read and not before it is stored: it is paid for by then.

    Raises:
        UserError: naming both, if it is another.
    """
    if completion.finish == "refusal" and not completion.model:
        return  # The endpoint refused the content; no model saw it.
    if completion.model not in {model.model, *model.returned_models}:
        raise UserError(
            f"{model.model} at {model.base_url}: the reply is from '{completion.model[:200]}'. "
            "It is kept. Ask for that model by its own name, or, if it is what you want, add this "
            "name to returned_models in its entry"
        )


def given_up(model: EndpointModel, call: Call, fault: CallError, attempts: int) -> UserError:
    """The error that a call ends in which failed for good."""
    end = call.request.messages[-1]["content"][-_CHARACTERS_SHOWN:]
    return UserError(
        f"{model.model} at {model.base_url}: {fault.words}, after {attempts} "
        f"attempt{'s' * (attempts > 1)}; all replies are kept, run again to go on. The call "
        f"ends in {end!r}"
    )
