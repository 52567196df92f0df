"""The bill as text for a terminal."""

import math
from collections.abc import Iterator

import pandas as pd

from ctxaudit.config.endpoint import EndpointModel
from ctxaudit.config.root import Config
from ctxaudit.llm.ledger import Totals

_SHOWN = ["study", "stage", "model", "calls", "stored", "tokens_in", "tokens_out"]
_DOLLARS = ["low_usd", "high_usd"]

_MEANING = """\
Tokens and dollars are of the calls that are not stored. Low: tokens by characters, replies of
the assumed length. High: the worst case, which is reserved against the budget before each call.
Further calls after unusable replies, and repeated tries, are in neither."""


def show(bill: pd.DataFrame, config: Config, account: Totals | None) -> str:
    """Rows, total, budget, prices, and what the figures mean.

    Args:
        bill: The rows.
        config: The configuration.
        account: What was paid so far; None where nothing was.
    """
    if bill.empty:
        return "No stage calls a model behind an endpoint."
    shown = bill[[*_SHOWN, *_DOLLARS]].copy()
    counts = ["calls", "tokens_in", "tokens_out"]
    shown[counts] = shown[counts].map("{:,}".format)
    shown["stored"] = [_share(*pair) for pair in zip(bill["stored"], bill["calls"], strict=True)]
    shown[_DOLLARS] = shown[_DOLLARS].map(lambda usd: "-" if math.isnan(usd) else f"{usd:,.2f}")
    lines = [
        shown.to_string(index=False),
        "",
        f"total: {_total(bill)}",
        f"budget: {_budget(config, account)}",
        *_prices(bill, config),
        _MEANING,
    ]
    return "\n".join(lines)


def _share(num_stored: float, num_calls: int) -> str:
    if math.isnan(num_stored):
        return "not known yet"
    # Cut, not rounded: all is stored only where nothing is to be paid.
    percent = math.floor(100 * num_stored / num_calls) if num_calls else 100
    return f"{num_stored:,.0f} ({percent} %)"


def _total(bill: pd.DataFrame) -> str:
    missing = bill.loc[bill["reason"] != "", "model"].unique()
    counted = f"{bill['calls'].sum():,} calls, {bill['to_ask'].sum():,} to ask"
    if len(missing) == bill["model"].nunique():
        return f"{counted}, dollars not known"
    low, high = (bill[name].sum() for name in _DOLLARS)
    without = f", without {', '.join(missing)}" if len(missing) else ""
    return f"{counted}, {low:,.2f} to {high:,.2f} dollars{without}"


def _budget(config: Config, account: Totals | None) -> str:
    limit = config.llm.budget_usd
    told = "none (llm.budget_usd)" if limit is None else f"{limit:,.2f} dollars (llm.budget_usd)"
    if account is None:
        return told
    return f"{told}; so far {account.spent:,.2f} spent, {account.reserved:,.2f} reserved"


def _prices(bill: pd.DataFrame, config: Config) -> Iterator[str]:
    """Of which day the prices are, what is taken off, and which are missing."""
    if config.llm.prices is not None:
        yield f"prices: of {config.llm.prices.as_of} (llm.prices)"
    for name, reason in bill[["model", "reason"]].drop_duplicates().itertuples(index=False):
        model = config.models[name]
        if reason:
            yield f"{name}: price not known: {reason}"
        elif isinstance(model, EndpointModel) and model.traffic.batch.enabled and config.llm.prices:
            discount = config.llm.prices.models[name].batch_discount
            yield f"{name}: in batches, {100 * discount:g} % off"
