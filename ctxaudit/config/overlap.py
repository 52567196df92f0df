"""The section `overlap`."""

from typing import Any, Literal

from pydantic import Field, model_validator

from ctxaudit.config.plugged import check_plugin, check_settings
from ctxaudit.config.section import Name, Section


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
    """A question set."""

    loader: Name = Field(description="Module of `ctxaudit/datasets/`.")
    path: str = Field(description="Raw file, or folder of raw files.")
    num_examples: int | None = Field(
        None,
        ge=1,
        description="Questions that are taken, chosen by hash of `seed` and id: a larger number "
        "only adds. Null takes all.",
    )
    seed: int = Field(0, description="Chooses the sample, whatever the run's own seed is.")


class Corpora(Section):
    """The two corpora; one JSON record with `text` per line."""

    retain: str = Field(description="What the model is fine-tuned on.")
    forget: str = Field(description="Held out: what only the context can tell.")


class Overlap(Section):
    """The study of attribution under in-weight overlap."""

    datasets: dict[Name, OverlapDataset] = Field(min_length=1)
    corpora: Corpora
    target_models: list[Name] = Field(min_length=1)
    num_shards: int = Field(
        1, ge=1, description="Jobs that answers, ablations and token distances are cut into."
    )
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
            check_plugin("datasets", dataset.loader, "datasets")
        for name, settings in self.methods.items():
            method = check_plugin("attribution", name, "methods")
            check_settings(method, f"methods.{name}", settings)
        for name, settings in self.metrics.items():
            metric = check_plugin("metrics", name, "metrics")
            check_settings(metric, f"metrics.{name}", settings)
        return self
