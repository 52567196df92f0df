"""What a call costs, at most and in the end."""

import json
from dataclasses import dataclass

from ctxaudit.llm.requests import ChatRequest

_TOKENS_PER_MESSAGE = 16
"""Role and separators of a chat template, generously."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars per million tokens.

    Attributes:
        input: For tokens read; cached ones are counted in full.
        output: For tokens written, reasoning included.
        batch_discount: Share taken off in a batch.
    """

    input: float
    output: float
    batch_discount: float = 0.0

    def of(self, prompt_tokens: int, new_tokens: int) -> float:
        """Dollars for so many tokens."""
        return (prompt_tokens * self.input + new_tokens * self.output) / 1e6

    def in_batch(self) -> "Price":
        """The price of the same in a batch."""
        share = 1 - self.batch_discount
        return Price(input=share * self.input, output=share * self.output)


def most_tokens(request: ChatRequest) -> tuple[int, int]:
    """Upper limits of the tokens that a call reads and writes.

    A token of any byte-level vocabulary is at least one byte, so no tokenizer is needed.
    """
    texts = [content for message in request.messages for content in message.values()]
    if request.schema is not None:
        texts.append(json.dumps(request.schema))
    num_bytes = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    return num_bytes + _TOKENS_PER_MESSAGE * (len(request.messages) + 1), request.max_new_tokens


def worst_case(request: ChatRequest, price: Price) -> float:
    """The most that a call can cost, in dollars."""
    return price.of(*most_tokens(request))
