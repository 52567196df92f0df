"""Calls of the stages whose model is behind an endpoint.

Where the artifacts that a stage reads exist, its very requests are made from them, as they lie.
Else requests of mean size stand for all.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ctxaudit import prompts, responding
from ctxaudit.artifacts import records
from ctxaudit.config.endpoint import EndpointModel
from ctxaudit.config.root import Config
from ctxaudit.corpora import reranking, smoothing
from ctxaudit.interface import Example
from ctxaudit.llm.client import Client
from ctxaudit.llm.requests import ChatRequest
from ctxaudit.planning import conflict, overlap, stand_ins
from ctxaudit.planning.bill import Part
from ctxaudit.planning.rehearsal import rehearse
from ctxaudit.planning.workload import Workload

_GRADE_TOKENS = 2
_GRADE_AS_JSON_TOKENS = 8

Act = Callable[[Client], object]
"""Does a stage's work with a client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifacts:
    """Where stages leave what requests are made of: paths with wildcards in braces."""

    questions: str
    candidates: str
    contexts: str
    instances: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stage:
    """One stage on one dataset.

    Attributes:
        study: Its study.
        name: Its name.
        model: Whom it asks; a key of `models`.
        reads: Artifacts that it reads.
        act: Its work on them.
        estimates: Its work on records of mean size, and how many of these there are.
        reply_tokens: Assumed length of the reply to a request.
    """

    study: str
    name: str
    model: str
    reads: Sequence[str]
    act: Act
    estimates: Sequence[tuple[float, Act]]
    reply_tokens: Callable[[ChatRequest], float]


def plan(
    config: Config, load: Workload, artifacts: Artifacts, *, store: Path, seed: int
) -> Iterator[Part]:
    """The calls of every stage that asks an endpoint, in the order of the stages.

    Args:
        config: The configuration.
        load: Sizes of its inputs.
        artifacts: Where requests may be made from.
        store: Folder of the stored replies.
        seed: Of the choice of conflict instances.
    """
    # Target models that share an engine ask it the same.
    engines = dict.fromkeys(config.conflict.generation.engines.values())
    stages = [
        *(_reranking(config, load, artifacts, name) for name in config.overlap.datasets),
        *(_smoothing(config, load, artifacts, name) for name in config.overlap.datasets),
        *(_responses(config, load, artifacts, name, seed) for name in engines),
    ]
    for stage in stages:
        model = config.models[stage.model]
        if isinstance(model, EndpointModel):
            yield from _parts(stage, model, store)


def _parts(stage: _Stage, model: EndpointModel, store: Path) -> Iterator[Part]:
    is_known = all(Path(path).exists() for path in stage.reads)
    for times, act in [(1.0, stage.act)] if is_known else stage.estimates:
        found = rehearse(stage.model, model, store, act)
        yield Part(
            study=stage.study,
            stage=stage.name,
            model=stage.model,
            missing=found.missing,
            num_stored=found.num_stored if is_known else None,
            times=times,
            reply_tokens=stage.reply_tokens,
        )


def _reranking(config: Config, load: Workload, artifacts: Artifacts, dataset: str) -> _Stage:
    settings, sizes = config.overlap.reranking, load.questions[dataset]
    corpora = {"retain": load.retain, "forget": load.forget}
    questions = artifacts.questions.format(dataset=dataset)
    candidates = [artifacts.candidates.format(dataset=dataset, corpus=name) for name in corpora]

    def act(client: Client) -> None:
        prompt = prompts.read_task(settings.prompt)
        asked = records.read_examples(questions)
        for path in candidates:
            reranking.rerank(asked, records.read_candidates(path), client, prompt)

    def estimate(tokens: float, client: Client) -> None:
        reranking.rerank(
            [stand_ins.question(sizes, config.planning)],
            [stand_ins.candidate(tokens, config.planning)],
            client,
            prompts.read_task(settings.prompt),
        )

    times = config.overlap.retrieval.num_candidates * sizes.num_examples
    return _Stage(
        study="overlap",
        name="rerank",
        model=settings.judge,
        reads=[questions, *candidates],
        act=act,
        estimates=[
            (times, partial(estimate, corpus.mean_passage_tokens)) for corpus in corpora.values()
        ],
        reply_tokens=_grade_tokens,
    )


def _smoothing(config: Config, load: Workload, artifacts: Artifacts, dataset: str) -> _Stage:
    settings, picked = config.overlap.smoothing, config.overlap.reranking
    contexts = artifacts.contexts.format(dataset=dataset)

    def act(client: Client) -> None:
        prompt = prompts.read_task(settings.prompt)
        smoothing.smooth(records.read_examples(contexts), client, prompt, settings)

    def estimate(client: Client) -> None:
        segments = [load.retain.mean_passage_tokens] * picked.num_iw
        segments += [load.forget.mean_passage_tokens] * picked.num_icl
        context = stand_ins.context(segments, config.planning)
        smoothing.smooth([context], client, prompts.read_task(settings.prompt), settings)

    return _Stage(
        study="overlap",
        name="smooth",
        model=settings.generator,
        reads=[contexts],
        act=act,
        estimates=[(overlap.num_smoothed(config, load.questions[dataset]), estimate)],
        # As long as the segments, which is what the limit allows something on top of.
        reply_tokens=lambda request: request.max_new_tokens / settings.token_factor,
    )


def _responses(
    config: Config, load: Workload, artifacts: Artifacts, engine: str, seed: int
) -> _Stage:
    settings = config.conflict.generation
    paths = [artifacts.instances.format(conflict=name) for name in sorted(load.instances)]

    def ask(examples: Sequence[Example], client: Client) -> None:
        templates = prompts.read_by_task(config.conflict.prompts.model_dump())
        responding.respond(examples, client, templates=templates, settings=settings)

    def act(client: Client) -> None:
        examples = records.read_examples(*paths)
        ask(responding.test_subset(examples, settings.num_per_type, seed=seed), client)

    estimates = [
        (
            conflict.num_answered(config, sizes) * num / sizes.num_instances,
            partial(ask, [stand_ins.instance(sizes, num_pieces, config.planning)]),
        )
        for sizes in load.instances.values()
        for num_pieces, num in sizes.num_pieces.items()
    ]
    length = config.planning.response_tokens or settings.max_new_tokens
    return _Stage(
        study="conflict",
        name="responses",
        model=engine,
        reads=paths,
        act=act,
        estimates=estimates,
        reply_tokens=lambda request: length,
    )


def _grade_tokens(request: ChatRequest) -> float:
    return _GRADE_TOKENS if request.schema is None else _GRADE_AS_JSON_TOKENS
