"""The section `conflict`."""

from typing import Literal

from pydantic import Field, PositiveInt, model_validator

from ctxaudit.config.plugged import check_plugin
from ctxaudit.config.section import DType, Name, Section


class ConflictPrompts(Section):
    """Prompt files of the conflict study (appendix E)."""

    reasoning: str
    summarization: str
    single_reasoning: str
    single_summarization: str


class Generation(Section):
    """Greedy responses."""

    num_per_type: int | None = Field(
        None, ge=1, description="Test instances answered per conflict type; null takes all."
    )
    max_new_tokens: int = Field(512, ge=1)
    batch_size: int = Field(8, ge=1, description="Most prompts of one batch in this process.")
    engines: dict[Name, Name] = Field(
        default_factory=dict,
        description="Endpoint that writes the unsteered responses of a target model, such as a "
        "vLLM server with the same weights; absent: the model itself, in this process.",
    )


class Balance(Section):
    """Shapley values of the evidence and their inequality."""

    scorer: Name = Field(description="A key of `models`.")
    dtype: DType = Field(
        "float32",
        description="Precision of the scorer, whatever its entry says: rounding in half precision "
        "alone moves Balance.",
    )
    prompt: str = Field(description="Prompt file of the scorer, with a form for no evidence.")
    exact_limit: int = Field(12, ge=1, le=16, description="Most sources for exact Shapley values.")


class Probing(Section):
    """Linear probes of conflict awareness."""

    C: float = Field(1.0, gt=0, description="Inverse regularisation strength.")
    max_iter: int = Field(1000, ge=1)
    num_folds: int = Field(5, ge=2)
    batch_size: int = Field(8, ge=1)


class Steering(Section):
    """The direction towards the neutral centre, and how it is injected."""

    alpha: float = Field(1.0, description="Coefficient of the unit direction.")
    schedules: list[Literal["first_generated", "all_tokens"]] = Field(min_length=1)
    layers: list[PositiveInt] | None = Field(
        None, min_length=1, description="Blocks (1…L) that are steered; null: all."
    )


class Conflict(Section):
    """The study of conflicts inside the context."""

    instances: dict[Name, str] = Field(
        min_length=1, description="Folder of instances (released layout) per conflict type."
    )
    target_models: list[Name] = Field(min_length=1)
    num_shards: int = Field(
        1, ge=1, description="Jobs that the responses and ablations of a model are cut into."
    )
    calibration_share: float = Field(0.2, gt=0, lt=1)
    prompts: ConflictPrompts
    generation: Generation
    balance: Balance
    probing: Probing
    steering: Steering

    @model_validator(mode="after")
    def _types_exist(self) -> "Conflict":
        for name in self.instances:
            check_plugin("conflict", name, "instances")
        return self
