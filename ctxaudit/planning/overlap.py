"""Work of the overlap study."""

from collections.abc import Iterator
from dataclasses import replace

from ctxaudit import plugins
from ctxaudit.ablation import cost, planner
from ctxaudit.ablation.cost import Frame, MaskCounts
from ctxaudit.config.root import Config
from ctxaudit.planning.work import Work, instruction_tokens, read_frame
from ctxaudit.planning.workload import QuestionLoad, Workload

_NUM_VARIANTS = 2
"""The target model before and after fine-tuning."""

_NUM_GRADES = 11
"""A passage's relevance is an expectation over the answers "0" to "10"."""

_SHORT_ANSWER = 2
"""Tokens of a grade, or an option's letter, with its end token."""

_TRAINING_PASSES = 3
"""Backward costs about twice as much as forward."""


def plan(config: Config, load: Workload) -> Iterator[Work]:
    """Work of the overlap study."""
    yield _embedding(config, load)
    for questions in load.questions.values():
        yield _reranking(config, load, questions)
        yield _smoothing(config, load, questions)
    for model in config.overlap.target_models:
        yield _finetuning(config, load, model)
        for questions in load.questions.values():
            yield _scoring(config, load, questions, model)
            if _reads_distances(config):
                yield _distances(config, load, questions, model)


def num_smoothed(config: Config, questions: QuestionLoad) -> int:
    """Contexts that the generator is asked to smooth."""
    limit = config.overlap.smoothing.num_examples
    return questions.num_examples if limit is None else min(questions.num_examples, limit)


def _embedding(config: Config, load: Workload) -> Work:
    prefix = len(config.overlap.embedding.query_prompt) / config.planning.characters_per_token
    queries = sum(
        q.num_examples * (prefix + q.query_tokens + q.choice_tokens)
        for q in load.questions.values()
    )
    num_queries = sum(q.num_examples for q in load.questions.values())
    tokens = load.retain.passage_tokens + load.forget.passage_tokens + queries
    return Work(
        stage="embed",
        model=config.overlap.embedding.model,
        sequences=load.retain.num_passages + load.forget.num_passages + num_queries,
        tokens=tokens,
    )


def _reranking(config: Config, load: Workload, questions: QuestionLoad) -> Work:
    settings = config.overlap.reranking
    query = questions.query_tokens + questions.choice_tokens
    num_candidates = 2 * config.overlap.retrieval.num_candidates * questions.num_examples
    each = instruction_tokens(config, settings.prompt) + query + _segment_tokens(load)
    prompt = num_candidates * each
    return Work(
        stage="rerank",
        model=settings.judge,
        sequences=num_candidates * _NUM_GRADES,
        tokens=prompt * _NUM_GRADES + num_candidates * _NUM_GRADES * _SHORT_ANSWER,
        saved_tokens=prompt * (_NUM_GRADES - 1),
    )


def _smoothing(config: Config, load: Workload, questions: QuestionLoad) -> Work:
    settings = config.overlap.smoothing
    segments = _num_sources(config) * _segment_tokens(load)
    prompt = instruction_tokens(config, settings.prompt) + segments
    num = num_smoothed(config, questions)
    return Work(
        stage="smooth",
        model=settings.generator,
        sequences=num,
        tokens=num * prompt,
        generated_tokens=num * settings.token_factor * segments,
    )


def _finetuning(config: Config, load: Workload, model: str) -> Work:
    settings = config.overlap.finetuning
    tokens = load.retain.num_tokens * settings.num_epochs
    return Work(
        stage="finetune",
        model=model,
        sequences=tokens / settings.max_tokens,
        tokens=tokens,
        passes=_TRAINING_PASSES,
    )


def _scoring(config: Config, load: Workload, questions: QuestionLoad, model: str) -> Work:
    """Every option under every mask; the response is an option, so its v is among them."""
    frame, counts = _question_frame(config, load, questions), _counts(config)
    num, separate = _NUM_VARIANTS * questions.num_examples, cost.separate_tokens(frame, counts)
    return Work(
        stage="answer and ablate",
        model=model,
        sequences=num * counts.num_masks * frame.num_responses,
        tokens=num * separate,
        saved_tokens=num * (separate - cost.shared_tokens(frame, counts)),
    )


def _distances(config: Config, load: Workload, questions: QuestionLoad, model: str) -> Work:
    frame = _question_frame(config, load, questions)
    num = _NUM_VARIANTS * questions.num_examples
    tokens = num * (frame.prompt(_num_sources(config)) + frame.response)
    return Work(
        stage="token distances",
        model=model,
        sequences=num,
        tokens=tokens,
    )


def _question_frame(config: Config, load: Workload, questions: QuestionLoad) -> Frame:
    answering, query = config.overlap.answering, questions.query_tokens
    response = questions.choice_tokens + 1
    if answering.scoring == "letter":
        query += questions.num_choices * questions.choice_tokens
        response = _SHORT_ANSWER
    frame = read_frame(config, answering.prompt, query=query, source=_segment_tokens(load))
    return replace(frame, response=response, num_responses=questions.num_choices)


def _counts(config: Config) -> MaskCounts:
    num_sources, limit = _num_sources(config), config.overlap.ablation.exact_limit
    if num_sources <= limit:
        return cost.all_subsets(num_sources)
    asked = planner.wanted(
        num_sources, config.overlap.methods, config.overlap.metrics, seed=config.seed
    )
    return cost.of_masks(planner.merge(num_sources, asked, exact_limit=limit))


def _reads_distances(config: Config) -> bool:
    methods = (plugins.load("attribution", name) for name in config.overlap.methods)
    return any(method.EVIDENCE == "token_distances" for method in methods)


def _num_sources(config: Config) -> int:
    return config.overlap.reranking.num_iw + config.overlap.reranking.num_icl


def _segment_tokens(load: Workload) -> float:
    return (load.retain.mean_passage_tokens + load.forget.mean_passage_tokens) / 2
