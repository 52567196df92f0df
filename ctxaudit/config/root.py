"""The whole configuration: its model, how it is read and checked, its schema."""

import json
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, ValidationError, model_validator

from ctxaudit.config.conflict import Conflict
from ctxaudit.config.endpoint import EndpointModel
from ctxaudit.config.faults import describe
from ctxaudit.config.llm import LanguageModels
from ctxaudit.config.models import Model
from ctxaudit.config.overlap import Overlap
from ctxaudit.config.planning import Planning
from ctxaudit.config.section import Name, Section
from ctxaudit.errors import UserError

_ALSO_ENDPOINTS = {
    "overlap.reranking.judge",
    "overlap.smoothing.generator",
    "conflict.generation.engines",
    "llm.prices.models",
    "planning.tokens_per_second",
    "planning.generated_per_second",
}
"""Keys that may name a model of which only replies are wanted."""


class Config(Section):
    """The whole configuration."""

    seed: int = Field(ge=0, le=2**31 - 1)
    models: dict[Name, Model]
    overlap: Overlap
    conflict: Conflict
    llm: LanguageModels = LanguageModels()
    planning: Planning = Planning()

    @model_validator(mode="after")
    def _models_exist(self) -> "Config":
        used = {
            "overlap.chunking.tokenizer": [self.overlap.chunking.tokenizer],
            "overlap.embedding.model": [self.overlap.embedding.model],
            "overlap.reranking.judge": [self.overlap.reranking.judge],
            "overlap.smoothing.generator": [self.overlap.smoothing.generator],
            "overlap.target_models": self.overlap.target_models,
            "overlap.finetuning.modules": list(self.overlap.finetuning.modules),
            "conflict.target_models": self.conflict.target_models,
            "conflict.generation.engines": list(self.conflict.generation.engines.values()),
            "conflict.balance.scorer": [self.conflict.balance.scorer],
            "llm.prices.models": list(self.llm.prices.models) if self.llm.prices else [],
            "planning.tokens_per_second": list(self.planning.tokens_per_second),
            "planning.generated_per_second": list(self.planning.generated_per_second),
        }
        for key, names in used.items():
            for name in names:
                if name not in self.models:
                    allowed = ", ".join(sorted(self.models))
                    raise ValueError(f"{key}: unknown model '{name}'; available: {allowed}")
                if key not in _ALSO_ENDPOINTS and self.models[name].kind == "endpoint":
                    raise ValueError(
                        f"{key}: '{name}' is behind an endpoint; this needs a model whose weights "
                        "are here (gguf, package, folder or hub)"
                    )
        return self

    @model_validator(mode="after")
    def _endpoints_are_told_apart(self) -> "Config":
        seen: dict[tuple[str, str], tuple[str, EndpointModel]] = {}
        for name, model in self.models.items():
            if not isinstance(model, EndpointModel):
                continue
            first, other = seen.setdefault((model.served_by, model.model), (name, model))
            is_named = model.provider is not None and other.provider is not None
            if other.base_url != model.base_url and not is_named:
                raise ValueError(
                    f"models.{name}: '{model.model}' at another address than models.{first}, but "
                    f"of the same provider '{model.served_by}': their replies could not be told "
                    "apart. Give both a provider: two names for two servers, one for one that is "
                    "reached in two ways"
                )
        return self

    @model_validator(mode="after")
    def _budget_can_be_kept(self) -> "Config":
        if self.llm.budget_usd is None or self.llm.mode != "live":
            return self
        priced = self.llm.prices.models if self.llm.prices else {}
        called = [
            self.overlap.reranking.judge,
            self.overlap.smoothing.generator,
            *self.conflict.generation.engines.values(),
        ]
        for name in called:
            if self.models[name].kind == "endpoint" and name not in priced:
                raise ValueError(
                    f"llm.budget_usd is set, but llm.prices.models has no price for '{name}', so "
                    "the budget could not be kept; enter its price (0 for a server of yours) or "
                    "remove the budget"
                )
        return self

    @model_validator(mode="after")
    def _engines_serve_target_models(self) -> "Config":
        targets = self.conflict.target_models
        for name, engine in self.conflict.generation.engines.items():
            if engine in self.models and self.models[engine].kind != "endpoint":
                raise ValueError(
                    f"conflict.generation.engines.{name}: '{engine}' is a model of this process; "
                    "allowed: models of kind endpoint"
                )
            if name not in targets:
                raise ValueError(
                    f"conflict.generation.engines: '{name}' is not one of conflict.target_models; "
                    f"allowed: {', '.join(targets)}"
                )
        return self


def load(path: Path) -> Config:
    """Read and check a YAML configuration file.

    Raises:
        UserError: with one line per fault: key, reason, allowed values.
    """
    return validate(read(path), source=str(path))


def read(path: Path) -> Any:
    """The content of a YAML file, unchecked; UserError if it is none."""
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: not UTF-8; save the file as UTF-8") from None
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not valid YAML: {error}") from None


def validate(raw: Any, *, source: str) -> Config:
    """Check a raw configuration; `source` names it in messages."""
    try:
        return Config.model_validate(raw)
    except ValidationError as error:
        faults = (describe(fault, source=source, root=Config) for fault in error.errors())
        raise UserError("\n".join(faults)) from None


def schema_text() -> str:
    """The JSON schema of the configuration, as `config/schema.json` holds it."""
    return json.dumps(Config.model_json_schema(), indent=1, ensure_ascii=False) + "\n"
