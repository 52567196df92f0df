"""How much there is to do: counted in the raw files, or as `planning` states where one is absent.

Lengths are reckoned from characters, so no tokenizer and no model is needed.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, TypeVar

from ctxaudit import plugins
from ctxaudit.ablation.choices import Scoring, check
from ctxaudit.artifacts import jsonl
from ctxaudit.config.overlap import Chunking, OverlapDataset
from ctxaudit.config.planning import Planning
from ctxaudit.config.root import Config
from ctxaudit.datasets import contextconflict, sampling
from ctxaudit.errors import UserError
from ctxaudit.interface import Task

Size = TypeVar("Size")


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusLoad:
    """One corpus.

    Attributes:
        num_tokens: Of all documents.
        num_passages: After chunking.
        passage_tokens: Of all passages, overlaps counted in each.
    """

    num_tokens: float
    num_passages: int
    passage_tokens: float

    @property
    def mean_passage_tokens(self) -> float:
        """Mean over the passages."""
        return self.passage_tokens / self.num_passages


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionLoad:
    """One question file; lengths are means in tokens."""

    num_examples: int
    num_choices: float
    query_tokens: float
    choice_tokens: float


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceLoad:
    """The instances of one conflict type.

    Attributes:
        task: How its responses are judged.
        num_pieces: Number of evidence pieces → number of instances that have so many.
        query_tokens: Mean per instance.
        piece_tokens: Mean per piece.
    """

    task: Task
    num_pieces: Mapping[int, int]
    query_tokens: float
    piece_tokens: float

    @property
    def num_instances(self) -> int:
        """All instances of the type."""
        return sum(self.num_pieces.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Sizes of all inputs; `assumed` names those that were not counted but stated."""

    retain: CorpusLoad
    forget: CorpusLoad
    questions: Mapping[str, QuestionLoad]
    instances: Mapping[str, InstanceLoad]
    assumed: tuple[str, ...]


def measure(config: Config) -> Workload:
    """Sizes of a configuration's inputs.

    Raises:
        UserError: where a raw file is absent and `planning` states no size for it.
    """
    overlap, planning = config.overlap, config.planning
    paths = {
        "retain": overlap.corpora.retain,
        "forget": overlap.corpora.forget,
        **{name: dataset.path for name, dataset in overlap.datasets.items()},
        **config.conflict.instances,
    }
    return Workload(
        retain=_corpus("retain", overlap.corpora.retain, overlap.chunking, planning),
        forget=_corpus("forget", overlap.corpora.forget, overlap.chunking, planning),
        questions={
            n: _questions(n, d, overlap.answering.scoring, planning)
            for n, d in overlap.datasets.items()
        },
        instances={n: _instances(n, p, planning) for n, p in config.conflict.instances.items()},
        assumed=tuple(name for name, path in paths.items() if not Path(path).exists()),
    )


def num_passages(num_tokens: float, chunking: Chunking) -> int:
    """Windows that cover a document of that many tokens."""
    rest = num_tokens - chunking.num_tokens
    return 1 if rest <= 0 else 1 + -int(-rest // (chunking.num_tokens - chunking.overlap))


def _corpus(name: str, path: str, chunking: Chunking, planning: Planning) -> CorpusLoad:
    if Path(path).exists():
        texts = [str(record.get("text", "")) for _, record in jsonl.read(path)]
        if not texts:
            raise UserError(f"{path}: holds no document")
        lengths = [len(text) / planning.characters_per_token for text in texts]
    else:
        size = _stated(planning.corpora, name, path, "corpora")
        mean = size.num_characters / planning.characters_per_token / size.num_documents
        lengths = [mean] * size.num_documents
    counts = [num_passages(length, chunking) for length in lengths]
    repeated = (sum(counts) - len(counts)) * chunking.overlap
    return CorpusLoad(
        num_tokens=sum(lengths),
        num_passages=sum(counts),
        passage_tokens=sum(lengths) + repeated,
    )


def _questions(
    name: str, dataset: OverlapDataset, scoring: Scoring, planning: Planning
) -> QuestionLoad:
    if not Path(dataset.path).exists():
        return QuestionLoad(
            num_examples=_stated(planning.num_examples, name, dataset.path, "num_examples"),
            num_choices=4,
            query_tokens=planning.query_tokens,
            choice_tokens=planning.choice_tokens,
        )
    loaded = plugins.load("datasets", dataset.loader).load(dataset.path)
    examples = list(sampling.sample(loaded, num_examples=dataset.num_examples, seed=dataset.seed))
    for example in examples:
        check(example, scoring)
    choices = [choice for example in examples for choice in example.choices]
    return QuestionLoad(
        num_examples=len(examples),
        num_choices=len(choices) / len(examples),
        query_tokens=_mean_tokens([example.query for example in examples], planning),
        choice_tokens=_mean_tokens(choices, planning),
    )


def _instances(name: str, path: str, planning: Planning) -> InstanceLoad:
    task: Task = plugins.load("conflict", name).TASK
    if not Path(path).exists():
        count = _stated(planning.num_examples, name, path, "num_examples")
        return InstanceLoad(
            task=task,
            num_pieces={planning.num_pieces: count},
            query_tokens=planning.query_tokens,
            piece_tokens=planning.piece_tokens,
        )
    examples = contextconflict.load(path, conflict_type=name)
    pieces = [source.text for example in examples for source in example.sources]
    return InstanceLoad(
        task=task,
        num_pieces=dict(sorted(Counter(len(example.sources) for example in examples).items())),
        query_tokens=_mean_tokens([example.query for example in examples], planning),
        piece_tokens=_mean_tokens(pieces, planning),
    )


def _stated(sizes: Mapping[Any, Size], name: str, path: str, key: str) -> Size:
    if name not in sizes:
        raise UserError(
            f"{path}: no such file, and planning.{key}.{name} states no size to reckon with; "
            "supply one of the two"
        )
    return sizes[name]


def _mean_tokens(texts: list[str], planning: Planning) -> float:
    return fmean(map(len, texts)) / planning.characters_per_token
