"""Records and protocols that the whole library shares. Imports nothing else of `ctxaudit`.

Axes: S sources of one example, A ablations (masks), T response tokens, C choices, L layers,
D hidden size. Log-probabilities are in nats. A mask is `True` where a source is kept.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel

if TYPE_CHECKING:
    import pandas as pd

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]

Provenance = Literal["iw", "icl"]
"""Where the knowledge of a source stands by construction: in-weight or in-context only."""

Variant = Literal["base", "tuned"]
"""The target model as it came, or after fine-tuning on the retain corpus."""

Task = Literal["multiple_choice", "reasoning", "summarization"]

Span = tuple[int, int]
"""Characters of a text: the first, and one past the last. It may be empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One segment of a context: the unit that is kept or removed.

    Attributes:
        id: Stable name within the run, such as the passage id.
        text: The text as it stands in the context; removing the source removes exactly this.
        provenance: The controlled label of the overlap study, else None.
        accurate: Whether the source is factually right, else None where that is not annotated.
        attributes: What a conflict twin needs: `stance`, `entity`, `time`, `level`, `branch`…
    """

    id: str
    text: str
    provenance: Provenance | None = None
    accurate: bool | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextDocument:
    """A document that a dataset brings with its question, not yet cut into sources.

    Attributes:
        title: Its title, or empty.
        text: As the dataset has it; pieces that the dataset lists are joined in their order.
        units: Spans of the pieces that the dataset itself tells apart (sentences, paragraphs), in
            order and without overlap; what lies between two is layout. Empty if it tells none.
        support: Spans that the dataset marks as evidence for the gold answer; empty if it marks
            none here, None if it does not mark evidence at all.
        answers: Spans that read as the gold answer, where the dataset says so.
    """

    title: str = ""
    text: str
    units: tuple[Span, ...] = ()
    support: tuple[Span, ...] | None = None
    answers: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A query with its sources.

    Attributes:
        id: Unique within its file.
        query: The question, statement stem or instruction.
        sources: S sources in the order in which the prompt shows them.
        task: How a response is judged.
        choices: C answer options of a multiple-choice question, else empty.
        gold: The right answer: the option's text, or free text, or None where there is none.
        group: The base instance; variants of one base never straddle folds or splits.
        tags: Further facts about the example (`conflict_type`, `twin`, `smoothed`…).
        context: What the dataset brings to answer from; empty once it is cut into sources.
    """

    id: str
    query: str
    sources: tuple[Source, ...]
    task: Task
    choices: tuple[str, ...] = ()
    gold: str | None = None
    group: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    context: tuple[ContextDocument, ...] = ()

    @property
    def gold_index(self) -> int:
        """Position of the gold answer among the choices."""
        return self.choices.index(self.gold or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A chunk of a corpus document.

    Attributes:
        id: `<corpus>/<document id>#<chunk number>`.
        document: Id of the document it was cut from.
        text: The chunk's text, a literal slice of the document.
        start: First character of the slice in the document.
        end: One past its last character.
        num_tokens: Length in tokens of the configured chunking tokenizer.
    """

    id: str
    document: str
    text: str
    start: int
    end: int
    num_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A passage retrieved for a question.

    Attributes:
        example_id: The question.
        passage: What was retrieved.
        rank: 0 for the nearest passage.
        similarity: Cosine of the query's and the passage's embeddings.
        relevance: The judge's score in [0, 10]; NaN before re-ranking or where unparsable.
        reason: Why the relevance is NaN, else empty.
    """

    example_id: str
    passage: Passage
    rank: int
    similarity: float
    relevance: float = float("nan")
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What a model answered to an example.

    Attributes:
        example_id: The example.
        text: The response, without the end token.
        finish: `stop` if the model ended it, `length` if it was cut, `choice` if it is an option,
            `refusal` if the model or a filter declined, `error` for any other end.
    """

    example_id: str
    text: str
    finish: Literal["stop", "length", "choice", "refusal", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ablations:
    """The set function v of one example and one response, where it was evaluated.

    Attributes:
        example_id: The example.
        masks: (A, S) bool, distinct rows.
        logprobs: (A, T) log-probability of each response token under each mask, nats.
            The last token is the end token if `has_end_token`.
        has_end_token: Whether the end token was scored.
    """

    example_id: str
    masks: BoolArray
    logprobs: FloatArray
    has_end_token: bool

    @property
    def num_sources(self) -> int:
        """S."""
        return int(self.masks.shape[1])

    @property
    def num_tokens(self) -> int:
        """Response tokens without the end token."""
        return int(self.logprobs.shape[1]) - int(self.has_end_token)

    def values(self, *, end_token: bool = False) -> FloatArray:
        """v of each mask: the sum of the response's log-probabilities, (A,) nats.

        NaN where no token is left, as for a response that is nothing but its end token.
        """
        drop_last = self.has_end_token and not end_token
        scored = self.logprobs[:, :-1] if drop_last else self.logprobs
        return np.asarray(scored.sum(axis=1)) if scored.shape[1] else np.full(len(scored), np.nan)

    def value_of(self, mask: BoolArray) -> float:
        """v of one mask in nats, NaN where it was not evaluated."""
        rows = np.flatnonzero((self.masks == mask).all(axis=1))
        return float(self.values()[rows[0]]) if rows.size else float("nan")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """Every option's score under each mask, for task accuracy.

    Attributes:
        example_id: The question.
        masks: (A, S) bool, distinct rows.
        scores: (A, C) score of each option, nats (sum over the option's tokens).
        gold_index: The right option.
    """

    example_id: str
    masks: BoolArray
    scores: FloatArray
    gold_index: int

    def correct(self, mask: BoolArray) -> float:
        """1 if the best option under this mask is the gold one, else 0; NaN if not evaluated."""
        rows = np.flatnonzero((self.masks == mask).all(axis=1))
        if not rows.size:
            return float("nan")
        return float(int(self.scores[rows[0]].argmax()) == self.gold_index)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenDistances:
    """Final-layer distances between response and context tokens of one example.

    Attributes:
        example_id: The example.
        distances: (T, K) cosine distance of each response token to each of K context tokens.
        matches: (T, K) whether the context token is the response token.
        source: (K,) index of the source that the context token lies in, int.
        num_sources: S.
    """

    example_id: str
    distances: FloatArray
    matches: BoolArray
    source: npt.NDArray[np.int64]
    num_sources: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """One method's scores for one example.

    Attributes:
        example_id: The example.
        scores: (S,) larger means a stronger contribution; NaN where undefined.
        labels: S predicted provenances, or empty where the method does not predict them.
        reason: Why scores are NaN, else empty.
        masks: (A, S) bool, distinct: what the method may have read; A = 0 if it reads none.
    """

    example_id: str
    scores: FloatArray
    labels: tuple[Provenance, ...] = ()
    reason: str = ""
    masks: BoolArray = field(default_factory=lambda: np.zeros((0, 0), dtype=bool))


Evidence = Ablations | TokenDistances
"""What an attribution method reads."""


@runtime_checkable
class AttributionMethod(Protocol):
    """A module `ctxaudit/attribution/<name>.py`.

    `Settings` is a frozen pydantic model of the method's configuration. `EVIDENCE` names the
    artifact that `attribute` reads. `SEPARATION` names its rule of source separation.
    """

    Settings: type[BaseModel]
    EVIDENCE: Literal["ablations", "token_distances"]
    SEPARATION: Literal["contrast", "share"]

    def plan_masks(self, num_sources: int, settings: Any, *, seed: int) -> BoolArray:
        """Masks that the method wants evaluated, (A, S) bool; A = 0 if it reads no ablations."""

    def attribute(self, evidence: Any, settings: Any, *, seed: int) -> FloatArray:
        """One score per source, (S,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlapResults:
    """All that a metric of the overlap study may read, for one dataset and one target model.

    Attributes:
        examples: The questions with their contexts.
        ablations: Per variant, the set function of each example, in the order of `examples`.
        answers: Per variant, the options' scores of each example, in the order of `examples`.
        attributions: Per (variant, method), the scores of each example, in the same order.
    """

    examples: Sequence[Example]
    ablations: Mapping[Variant, Sequence[Ablations]]
    answers: Mapping[Variant, Sequence[Answers]]
    attributions: Mapping[tuple[Variant, str], Sequence[Attribution]]

    @property
    def methods(self) -> list[str]:
        """Names of the methods present, sorted."""
        return sorted({method for _, method in self.attributions})


METRIC_COLUMNS = (
    "metric",
    "method",
    "variant",
    "parameter",
    "value",
    "reason",
    "num_examples",
    "num_undefined",
)
"""Columns of every metric table: one row per method, variant and parameter value.

`metric` is the component (`util`, `rmi`, `bcs`…), `variant` is base, tuned or both, `parameter`
reads like `k=1`; `num_examples` counts the examples that enter and `num_undefined` those of them
with no value; `reason` says why `value` is NaN and counts why those examples have none.
"""


@runtime_checkable
class Metric(Protocol):
    """A module `ctxaudit/metrics/<name>.py`."""

    Settings: type[BaseModel]
    HIGHER_IS_BETTER: bool

    def plan_masks(self, num_sources: int, settings: Any, *, seed: int) -> BoolArray:
        """Masks that the metric wants evaluated whatever the scores are, (A, S) bool."""

    def evaluate(self, results: OverlapResults, settings: Any, *, seed: int) -> "pd.DataFrame":
        """Rows with exactly `METRIC_COLUMNS`."""


@runtime_checkable
class DatasetLoader(Protocol):
    """A module `ctxaudit/datasets/<name>.py`: raw files → examples."""

    def load(self, path: str) -> Iterable[Example]:
        """Read and check a raw file or folder; UserError names file, line and field.

        Ids are unique. A loader of large files streams them.
        """


@runtime_checkable
class ConflictType(Protocol):
    """A module `ctxaudit/conflict/<type>.py`."""

    TASK: Task

    def consistent_twin(self, example: Example) -> Example:
        """The same query with only the evidence that does not conflict (appendix D.1)."""
