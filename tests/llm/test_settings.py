"""What the configuration of endpoints, prices and budgets may not say."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from ctxaudit.config.root import validate
from ctxaudit.errors import UserError

ROOT = Path(__file__).parents[2]
JUDGE = {"kind": "endpoint", "model": "judge-2026-01-01", "base_url": "http://gpu1:8000/v1"}
SECRET = "sk-proj-0123456789abcdef"  # noqa: S105


@pytest.fixture
def raw() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "config/paper.yaml").read_text("utf-8"))
    found["models"]["judge"] = dict(JUDGE)
    return found


@pytest.mark.parametrize("section", [(), ("sampling",), ("traffic",), ("traffic", "batch")])
def test_an_unknown_key_is_named_but_what_it_holds_is_not(
    raw: dict[str, Any], section: tuple[str, ...]
):
    entry = raw["models"]["judge"]
    for name in section:
        entry = entry.setdefault(name, {})
    entry["api_key"] = SECRET
    with pytest.raises(UserError, match=r"api_key: unknown key; allowed: ") as caught:
        validate(raw, source="config.yaml")
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("price", [float("inf"), float("nan"), -1])
def test_a_price_is_a_finite_amount(raw: dict[str, Any], price: float):
    raw["llm"]["prices"]["models"]["gpt-4o"]["input"] = price
    with pytest.raises(UserError, match=r"llm\.prices\.models\.gpt-4o\.input"):
        validate(raw, source="config.yaml")


@pytest.mark.parametrize("budget", [float("inf"), float("nan"), -1])
def test_a_budget_is_a_finite_amount(raw: dict[str, Any], budget: float):
    raw["llm"]["budget_usd"] = budget
    with pytest.raises(UserError, match=r"llm\.budget_usd"):
        validate(raw, source="config.yaml")


def test_a_budget_needs_the_price_of_each_model_that_is_called(raw: dict[str, Any]):
    raw["llm"]["budget_usd"] = 5
    validate(raw, source="config.yaml")
    raw["overlap"]["reranking"]["judge"] = "judge"
    with pytest.raises(UserError, match="no price for 'judge'"):
        validate(raw, source="config.yaml")
    raw["llm"]["mode"] = "replay"
    validate(raw, source="config.yaml")


def test_two_servers_of_one_model_need_names(raw: dict[str, Any]):
    other = {**JUDGE, "base_url": "http://gpu1:9000/v1"}
    raw["models"]["second"] = other
    with pytest.raises(UserError, match=r"models\.second: .*could not be told apart"):
        validate(raw, source="config.yaml")
    other["provider"] = "second"
    validate(raw, source="config.yaml")
    raw["models"]["second"] = {**JUDGE, "sampling": {"temperature": 1}}
    validate(raw, source="config.yaml")
