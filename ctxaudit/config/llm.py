"""What holds for every call to a language model."""

from datetime import date
from typing import Literal

from pydantic import Field

from ctxaudit.config.section import Name, Section


class ModelPrice(Section):
    """US dollars per million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0, description="Reasoning included.")
    batch_discount: float = Field(0.0, ge=0, le=1, description="Share taken off in batch mode.")


class Prices(Section):
    """A price table of one day."""

    as_of: date = Field(description="When the prices were read.")
    models: dict[Name, ModelPrice] = Field(description="By name in `models`.")


class LanguageModels(Section):
    """What holds for every call to a language model; none of it can change a reply."""

    mode: Literal["live", "replay"] = Field(
        "live", description="`replay` takes every reply from the store and calls nobody."
    )
    budget_usd: float | None = Field(
        None, ge=0, description="What all paid calls together may cost; needs a price per model."
    )
    prices: Prices | None = None
