"""The configuration: one frozen model per section, unknown keys refused.

`config/schema.json` is generated from here (`make schema`). A rule receives the section that it
uses as one mapping, so that a changed value re-runs what reads it and nothing else.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PositiveInt,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from ctxaudit import plugins
from ctxaudit.errors import UserError

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")]
"""A name that becomes part of file names."""

DType = Literal["float32", "bfloat16", "float16"]


class Section(BaseModel):
    """Base of all sections: frozen, unknown keys refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class _LocalModel(Section):
    dtype: DType = Field("float32", description="Precision in which the weights are held.")


class GgufModel(_LocalModel):
    """A GGUF file that an installed Python package carries; converted to safetensors once."""

    kind: Literal["gguf"]
    package: str = Field(description="Import name of the package; it is located, never imported.")
    file: str = Field(description="File name inside the package.")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$", description="Digest of the GGUF file.")
    digit_split: bool = Field(
        False, description="Restore the digit split that the GGUF tokenizer lost (SmolLM2)."
    )


class PackageModel(_LocalModel):
    """A model folder that an installed Python package carries."""

    kind: Literal["package"]
    package: str = Field(description="Import name of the package; it is located, never imported.")
    folder: str = Field(".", description="Folder of the model inside the package.")


class FolderModel(_LocalModel):
    """A model folder on this machine."""

    kind: Literal["folder"]
    path: str


class HubModel(_LocalModel):
    """A model on a hub, pinned to a commit; fetched once, safetensors only."""

    kind: Literal["hub"]
    id: str
    revision: str = Field(pattern=r"^[0-9a-f]{40}$", description="Full commit, never a branch.")


class EndpointModel(Section):
    """A model behind an OpenAI-compatible endpoint."""

    kind: Literal["endpoint"]
    model: str = Field(description="Dated snapshot as the endpoint names it.")
    base_url: str = "https://api.openai.com/v1"
    key_variable: str = Field(
        "OPENAI_API_KEY", description="Environment variable that holds the key."
    )


Model = Annotated[
    GgufModel | PackageModel | FolderModel | HubModel | EndpointModel,
    Field(discriminator="kind"),
]


def model(raw: Any) -> GgufModel | PackageModel | FolderModel | HubModel | EndpointModel:
    """An entry of `models:` from its plain mapping, as a rule's params hold it."""
    return TypeAdapter(Model).validate_python(raw)


class Chunking(Section):
    """Documents → passages of a fixed number of tokens."""

    tokenizer: Name = Field(description="Model whose tokenizer counts; a key of `models`.")
    num_tokens: int = Field(500, ge=2, description="Tokens per passage.")
    overlap: int = Field(50, ge=0, description="Tokens shared by neighbouring passages.")

    @model_validator(mode="after")
    def _overlap_is_smaller(self) -> "Chunking":
        if self.overlap >= self.num_tokens:
            raise ValueError("overlap must be smaller than num_tokens")
        return self


class Embedding(Section):
    """Passages and queries → unit vectors."""

    model: Name = Field(description="A sentence-transformers model; a key of `models`.")
    query_prompt: str = Field("", description="Text put before each query (Qwen3: Instruct…).")
    batch_size: int = Field(32, ge=1)


class Retrieval(Section):
    """Question + gold answer → candidates by cosine."""

    num_candidates: int = Field(10, ge=1, description="k_cand, per corpus.")


class Reranking(Section):
    """A language model scores each candidate 0–10."""

    judge: Name = Field(description="A key of `models`.")
    prompt: str = Field(description="Prompt file.")
    num_iw: int = Field(3, ge=1, description="k_iw: segments from the retain corpus.")
    num_icl: int = Field(3, ge=1, description="k_icl: segments from the forget corpus.")


class Smoothing(Section):
    """A language model joins the segments into one document."""

    generator: Name = Field(description="A key of `models`.")
    prompt: str = Field(description="Prompt file.")
    token_factor: float = Field(1.3, gt=1, description="Output limit as a multiple of the input.")
    min_fact_recall: float = Field(
        0.8, ge=0, le=1, description="Share of a segment's content words that must survive."
    )
    batch_size: int = Field(8, ge=1)
    num_examples: int | None = Field(
        None,
        ge=0,
        description="Examples that are smoothed, chosen by hash; the others keep their plain "
        "segments and are counted. Null takes all.",
    )


class FineTuning(Section):
    """LoRA on the retain corpus."""

    rank: int = Field(16, ge=1)
    alpha: int = Field(64, ge=1)
    modules: dict[Name, list[str]] = Field(
        default_factory=dict,
        description="Modules to adapt, per target model; ['all-linear'] takes every linear layer.",
    )
    learning_rate: float = Field(1e-4, gt=0)
    batch_size: int = Field(4, ge=1, description="Documents per step and device.")
    gradient_accumulation: int = Field(8, ge=1)
    num_epochs: int = Field(3, ge=1)
    max_tokens: int = Field(512, ge=8, description="Longer documents are cut into blocks.")
    precision: Literal["float32", "bfloat16"] = Field(
        "bfloat16", description="bfloat16 computes under autocast with float32 weights."
    )
    min_gain: float = Field(
        0.05,
        ge=-1,
        le=1,
        description="Stop if no-context accuracy rises by less than this; -1 never stops.",
    )


class Answering(Section):
    """How a model is shown a question and how its answer is read."""

    prompt: str = Field(description="Prompt file.")
    scoring: Literal["option_text", "letter"] = Field(
        "option_text",
        description="Score the options' own words, or list them and score their letters.",
    )


class Ablation(Section):
    """Evaluation of v(S)."""

    exact_limit: int = Field(
        8, ge=1, le=16, description="Up to this many sources all 2^n subsets are scored."
    )
    batch_tokens: int = Field(4096, ge=16, description="Upper limit of tokens in one forward pass.")


class OverlapDataset(Section):
    """A question file."""

    loader: Name = Field(description="Module of `ctxaudit/datasets/`.")
    path: str


class Corpora(Section):
    """The two corpora; one JSON record with `text` per line."""

    retain: str = Field(description="What the model is fine-tuned on.")
    forget: str = Field(description="Held out: what only the context can tell.")


class Overlap(Section):
    """The study of attribution under in-weight overlap."""

    datasets: dict[Name, OverlapDataset] = Field(min_length=1)
    corpora: Corpora
    target_models: list[Name] = Field(min_length=1)
    chunking: Chunking
    embedding: Embedding
    retrieval: Retrieval
    reranking: Reranking
    smoothing: Smoothing
    finetuning: FineTuning
    answering: Answering
    ablation: Ablation
    methods: dict[Name, dict[str, Any]] = Field(
        min_length=1, description="Attribution methods with their settings."
    )
    metrics: dict[Name, dict[str, Any]] = Field(
        min_length=1, description="Metrics with their settings."
    )

    @model_validator(mode="after")
    def _parts_fit(self) -> "Overlap":
        for key in ("num_iw", "num_icl"):
            wanted, found = getattr(self.reranking, key), self.retrieval.num_candidates
            if wanted > found:
                raise ValueError(
                    f"reranking.{key}: {wanted} segments cannot be chosen from {found} candidates "
                    "(retrieval.num_candidates)"
                )
        missing = sorted(set(self.target_models) - set(self.finetuning.modules))
        if missing:
            raise ValueError(
                f"finetuning.modules: no entry for target model(s) {', '.join(missing)}; name "
                "their modules, or ['all-linear']"
            )
        return self

    @model_validator(mode="after")
    def _plugins_exist(self) -> "Overlap":
        for dataset in self.datasets.values():
            _check_plugin("datasets", dataset.loader, "datasets")
        for name, settings in self.methods.items():
            method = _check_plugin("attribution", name, "methods")
            _check_settings(method, f"methods.{name}", settings)
        for name, settings in self.metrics.items():
            metric = _check_plugin("metrics", name, "metrics")
            _check_settings(metric, f"metrics.{name}", settings)
        return self


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
    batch_size: int = Field(8, ge=1)


class Balance(Section):
    """Shapley values of the evidence and their inequality."""

    scorer: Name = Field(description="A key of `models`; runs in float32.")
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
    calibration_share: float = Field(0.2, gt=0, lt=1)
    prompts: ConflictPrompts
    generation: Generation
    balance: Balance
    probing: Probing
    steering: Steering

    @model_validator(mode="after")
    def _types_exist(self) -> "Conflict":
        for name in self.instances:
            _check_plugin("conflict", name, "instances")
        return self


class CorpusSize(Section):
    """What a corpus holds, stated."""

    num_documents: int = Field(ge=1)
    num_characters: int = Field(ge=1)


class Planning(Section):
    """What the `plan` target reckons with; nothing else reads it."""

    tokens_per_second: dict[Name, float] = Field(
        default_factory=dict, description="Forward speed per model; absent: hours are not shown."
    )
    generated_per_second: dict[Name, float] = Field(
        default_factory=dict, description="New tokens per second and model, batch included."
    )
    corpora: dict[Literal["retain", "forget"], CorpusSize] = Field(
        default_factory=dict, description="Used while the corpus file is absent."
    )
    num_examples: dict[Name, int] = Field(
        default_factory=dict,
        description="Examples per dataset or conflict type; used while its file is absent.",
    )
    query_tokens: int = Field(60, ge=1, description="Mean question; used while files are absent.")
    choice_tokens: int = Field(12, ge=1, description="Mean answer option; likewise.")
    num_pieces: int = Field(4, ge=1, description="Evidence pieces per instance; likewise.")
    piece_tokens: int = Field(150, ge=1, description="Mean evidence piece; likewise.")
    response_tokens: int | None = Field(
        None, ge=1, description="Mean response of the conflict study; null: max_new_tokens."
    )
    characters_per_token: float = Field(4.0, gt=0, description="Turns text into tokens.")


_ALSO_ENDPOINTS = {
    "overlap.reranking.judge",
    "overlap.smoothing.generator",
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
            "conflict.balance.scorer": [self.conflict.balance.scorer],
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


def load(path: Path) -> Config:
    """Read and check a YAML configuration file.

    Raises:
        UserError: with one line per fault: key, reason, allowed values.
    """
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not valid YAML: {error}") from None
    return validate(raw, source=str(path))


def validate(raw: Any, *, source: str) -> Config:
    """Check a raw configuration; `source` names it in messages."""
    try:
        return Config.model_validate(raw)
    except ValidationError as error:
        raise UserError("\n".join(_describe(fault, source) for fault in error.errors())) from None


def schema_text() -> str:
    """The JSON schema of the configuration, as `config/schema.json` holds it."""
    return json.dumps(Config.model_json_schema(), indent=1, ensure_ascii=False) + "\n"


def _check_plugin(kind: str, name: str, key: str) -> Any:
    try:
        return plugins.load(kind, name)
    except UserError as error:
        raise ValueError(f"{key}: {error}") from None


def _check_settings(plugin: Any, key: str, settings: dict[str, Any]) -> None:
    try:
        plugin.Settings.model_validate(settings)
    except ValidationError as error:
        faults = (f"{key}.{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise ValueError("; ".join(faults)) from None


def _describe(fault: Any, source: str) -> str:
    key = ".".join(str(part) for part in fault["loc"]) or "(top level)"
    reason = fault["msg"].removeprefix("Value error, ")
    if fault["type"] == "extra_forbidden":
        reason = f"unknown key; allowed: {', '.join(_keys_beside(fault['loc']))}"
    value = fault["input"]
    # A whole section says nothing that its key does not.
    shown = "" if isinstance(value, dict | BaseModel) else f" (got {str(value)[:80]!r})"
    return f"{source}: {key}: {reason}{shown}"


def _keys_beside(location: Sequence[str | int]) -> list[str]:
    """Keys of the section that an unknown key stands in; empty where that is not one section."""
    section: Any = Config
    for part in location[:-1]:
        fields = getattr(section, "model_fields", {})
        if part in fields:
            section = fields[part].annotation
        elif get_origin(section) is dict:
            section = get_args(section)[1]
        else:
            # The kind of a model: one of several sections.
            section = next((s for s in get_args(get_args(section)[0]) if _kind(s) == part), None)
    return sorted(getattr(section, "model_fields", {}))


def _kind(section: Any) -> str:
    return str(get_args(section.model_fields["kind"].annotation)[0])
