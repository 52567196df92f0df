"""What calls to models behind endpoints will cost."""

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ctxaudit.config.endpoint import EndpointModel
from ctxaudit.config.root import Config
from ctxaudit.llm import prices
from ctxaudit.llm.prices import Price
from ctxaudit.llm.requests import ChatRequest

_KEYS = ["study", "stage", "model"]
_COUNTS = ["calls", "to_ask", "tokens_in", "tokens_out"]
_DOLLARS = ["low_usd", "high_usd"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Calls of one stage to one model.

    Attributes:
        study: Its study.
        stage: Its name.
        model: Key of `models`.
        missing: Requests to ask.
        num_stored: Calls whose reply is in the store; None where that is not known yet.
        times: Calls that each of them stands for.
        reply_tokens: Assumed length of the reply to a request.
    """

    study: str
    stage: str
    model: str
    missing: Sequence[ChatRequest]
    num_stored: int | None
    times: float
    reply_tokens: Callable[[ChatRequest], float]


def bill(parts: Iterable[Part], config: Config) -> pd.DataFrame:
    """One row per stage and model, in the order of the parts.

    Returns:
        Columns `study`, `stage`, `model`, `calls`, `stored` (calls, NaN where not known yet),
        `to_ask` (the others) and of these `tokens_in` and `tokens_out` (as assumed), `low_usd` (of
        these tokens), `high_usd` (of the worst case) and `reason` (why dollars are NaN).
    """
    rows = pd.DataFrame(
        [_row(part, config) for part in parts],
        columns=[*_KEYS, "calls", "stored", *_COUNTS[1:], *_DOLLARS, "reason"],
    )
    if rows.empty:
        return rows
    sums = dict.fromkeys(["calls", "stored", *_COUNTS[1:], *_DOLLARS], _sum)
    table = rows.groupby(_KEYS, sort=False).agg({**sums, "reason": "first"}).reset_index()
    table[_COUNTS] = table[_COUNTS].map(_whole).astype("int64")
    return table


def price_of(name: str, config: Config) -> Price | None:
    """The price of a model as it will be called, in batches or alone; None where none is set."""
    model, table = config.models[name], config.llm.prices
    if table is None or name not in table.models:
        return None
    price = Price(**table.models[name].model_dump())
    is_batch = isinstance(model, EndpointModel) and model.traffic.batch.enabled
    return price.in_batch() if is_batch else price


def _row(part: Part, config: Config) -> dict[str, Any]:
    price, scale = price_of(part.model, config), config.planning.characters_per_token
    likely = [_likely(request, part, scale) for request in part.missing]
    dollars = (math.nan, math.nan)
    if price:
        worst = (prices.worst_case(request, price) for request in part.missing)
        dollars = (sum(price.of(*tokens) for tokens in likely), sum(worst))
    tokens_in, tokens_out = (sum(tokens[at] for tokens in likely) for at in (0, 1))
    sums = (len(likely), tokens_in, tokens_out, *dollars)
    named = zip([*_COUNTS[1:], *_DOLLARS], sums, strict=True)
    scaled = {name: part.times * value for name, value in named}
    return {
        **{key: getattr(part, key) for key in _KEYS},
        "calls": scaled["to_ask"] + (part.num_stored or 0),
        "stored": math.nan if part.num_stored is None else part.num_stored,
        **scaled,
        "reason": "" if price else f"llm.prices.models.{part.model} is not set",
    }


def _likely(request: ChatRequest, part: Part, characters_per_token: float) -> tuple[int, int]:
    """Tokens that a call will read and write."""
    texts = [message["content"] for message in request.messages]
    if request.schema is not None:
        texts.append(json.dumps(request.schema))
    read = math.ceil(sum(map(len, texts)) / characters_per_token)
    return read, min(math.ceil(part.reply_tokens(request)), request.max_new_tokens)


def _sum(values: pd.Series) -> float:
    """The sum, NaN if one is."""
    return float(values.sum(skipna=False))


def _whole(value: float) -> int:
    # Beyond the noise of adding broken numbers.
    return math.ceil(round(value, 6))
