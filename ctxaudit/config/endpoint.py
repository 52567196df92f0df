"""A model behind an endpoint: who answers, under which name, and how it is called."""

import re
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from ctxaudit.config.section import Section

_PROVIDERS = {
    "api.openai.com": "openai",
    "api.anthropic.com": "anthropic",
    "generativelanguage.googleapis.com": "google",
    "localhost": "local",
    "127.0.0.1": "local",
    "::1": "local",
}
_MONTH_AND_DAY = "(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12][0-9]|3[01])"
_DATED = re.compile(rf"(?<![0-9])(?:20[0-9][0-9]-?)?{_MONTH_AND_DAY}(?![0-9])")
"""A date anywhere in a name, with or without its year: 2024-08-06, 20250929, 0613."""


class Sampling(Section):
    """Sampling parameters, each sent as it is written here; null is not sent."""

    temperature: float | None = Field(0.0, ge=0, description="Null for models that refuse it.")
    top_p: float | None = Field(None, gt=0, le=1)
    seed: int | None = Field(None, description="Best effort at most endpoints.")
    reasoning_effort: str | None = None


class Batch(Section):
    """Calls in batches (OpenAI's Batch API): cheaper, and answered within 24 hours."""

    enabled: bool = False
    poll_seconds: float = Field(60.0, gt=0, description="Time between two looks at a batch.")
    max_requests: int = Field(50_000, ge=1, description="Per batch; what the endpoint takes.")
    max_bytes: int = Field(200_000_000, ge=1, description="Likewise, of a batch's input file.")


class Traffic(Section):
    """How an endpoint is called; none of it can change a reply."""

    max_in_flight: int = Field(8, ge=1, description="Calls under way at once, per job.")
    requests_per_minute: int | None = Field(None, ge=1, description="Over all jobs.")
    tokens_per_minute: int | None = Field(None, ge=1, description="Likewise, read and written.")
    timeout_seconds: float = Field(120.0, gt=0)
    max_attempts: int = Field(6, ge=1, description="Per call; refusals are never tried again.")
    batch: Batch = Batch()


class EndpointModel(Section):
    """A model behind an OpenAI-compatible endpoint."""

    kind: Literal["endpoint"]
    model: str = Field(description="Dated snapshot as the endpoint names it.")
    base_url: str = "https://api.openai.com/v1"
    key_variable: str = Field(
        "OPENAI_API_KEY",
        pattern=r"^[A-Z_][A-Z0-9_]*$",
        description="Environment variable that holds the key; a key itself is never written here.",
    )
    provider: str | None = Field(
        None,
        min_length=1,
        description="Who serves the model: with its name, what tells stored replies apart. Null "
        "takes it from the host; name it where a server may move.",
    )
    allow_alias: bool = Field(
        False, description="Take a name without a date, whose meaning may change unseen."
    )
    returned_models: list[str] = Field(
        default_factory=list,
        description="Names under which the endpoint may answer, besides `model`.",
    )
    structured_output: Literal["json_schema", "json_object", "none"] = Field(
        "none",
        description="How a JSON schema is sent: OpenAI's style, llama.cpp's, or not at all.",
    )
    max_repairs: int = Field(
        1, ge=0, description="Further calls after a reply that is not what its schema asks for."
    )
    sampling: Sampling = Sampling()
    traffic: Traffic = Traffic()

    @property
    def served_by(self) -> str:
        """The provider's name."""
        host = urlsplit(self.base_url).hostname or ""
        if host.endswith((".openai.azure.com", ".cognitiveservices.azure.com")):
            host = "azure"
        return self.provider or _PROVIDERS.get(host, host)

    @field_validator("base_url")
    @classmethod
    def _holds_no_secret(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("must be http(s)://host/…")
        if parts.username or parts.password or parts.query:
            raise ValueError(
                "user names, passwords and queries are not taken, since an address is logged; "
                "put the key into an environment variable (key_variable)"
            )
        return url

    @model_validator(mode="after")
    def _is_pinned(self) -> "EndpointModel":
        if not self.allow_alias and not _DATED.search(self.model):
            raise ValueError(
                f"model '{self.model}' has no date: what it stands for may change. Name a dated "
                "snapshot (as gpt-4o-2024-08-06), or set allow_alias: true for a server of yours"
            )
        return self
