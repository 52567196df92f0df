"""Work of the conflict study."""

from collections.abc import Iterator
from dataclasses import replace

from ctxaudit.ablation import cost
from ctxaudit.ablation.cost import Frame
from ctxaudit.config.root import Config
from ctxaudit.planning.work import Work, read_frame
from ctxaudit.planning.workload import InstanceLoad, Workload


def plan(config: Config, load: Workload) -> Iterator[Work]:
    """Work of the conflict study."""
    engines = config.conflict.generation.engines
    for model in config.conflict.target_models:
        for sizes in load.instances.values():
            yield _activations(config, sizes, model)
            yield _single_activations(config, sizes, model)
            yield _responses(config, sizes, engines.get(model, model))
            yield _steered(config, sizes, model)
    for sizes in load.instances.values():
        if sizes.task == "summarization":
            yield _balance(config, sizes)


def _activations(config: Config, sizes: InstanceLoad, model: str) -> Work:
    """All instances and their consistent twins, which are at most as long."""
    tokens = 2 * _combined_tokens(config, sizes)
    return Work(
        stage="activations",
        model=model,
        sequences=2 * sizes.num_instances,
        tokens=tokens,
    )


def _single_activations(config: Config, sizes: InstanceLoad, model: str) -> Work:
    """Every piece of the calibration part by itself, for the steering direction."""
    files = config.conflict.prompts
    path = files.single_reasoning if sizes.task == "reasoning" else files.single_summarization
    num_pieces = sum(k * num for k, num in sizes.num_pieces.items())
    num_prompts = config.conflict.calibration_share * num_pieces
    return Work(
        stage="single activations",
        model=model,
        sequences=num_prompts,
        tokens=num_prompts * _frame(config, sizes, path).prompt(1),
    )


def _responses(config: Config, sizes: InstanceLoad, model: str) -> Work:
    num = num_answered(config, sizes)
    tokens = _combined_tokens(config, sizes) * num / sizes.num_instances
    return Work(
        stage="responses",
        model=model,
        sequences=num,
        tokens=tokens,
        generated_tokens=num * config.conflict.generation.max_new_tokens,
    )


def _steered(config: Config, sizes: InstanceLoad, model: str) -> Work:
    plain, num = _responses(config, sizes, model), len(config.conflict.steering.schedules)
    return Work(
        stage="steered responses",
        model=model,
        sequences=num * plain.sequences,
        tokens=num * plain.tokens,
        generated_tokens=num * plain.generated_tokens,
    )


def _balance(config: Config, sizes: InstanceLoad) -> Work:
    """All subsets of the evidence, for every response of every model and schedule."""
    settings, study = config.conflict.balance, config.conflict
    length = config.planning.response_tokens or study.generation.max_new_tokens
    frame = replace(_frame(config, sizes, settings.prompt), response=length)
    per_instance = len(study.target_models) * (1 + len(study.steering.schedules))
    num = per_instance * num_answered(config, sizes) / sizes.num_instances
    scored = {k: n for k, n in sizes.num_pieces.items() if k <= settings.exact_limit}
    counts = [(num * n, cost.all_subsets(k)) for k, n in scored.items()]
    separate = sum(n * cost.separate_tokens(frame, c) for n, c in counts)
    return Work(
        stage="balance",
        model=settings.scorer,
        sequences=sum(n * c.num_masks for n, c in counts),
        tokens=separate,
        saved_tokens=separate - sum(n * cost.shared_tokens(frame, c) for n, c in counts),
    )


def _combined_tokens(config: Config, sizes: InstanceLoad) -> float:
    """Prompts with all the evidence, of all instances of a type."""
    files = config.conflict.prompts
    path = files.reasoning if sizes.task == "reasoning" else files.summarization
    frame = _frame(config, sizes, path)
    return sum(num * frame.prompt(k) for k, num in sizes.num_pieces.items())


def num_answered(config: Config, sizes: InstanceLoad) -> int:
    """Instances of a type that are answered: of the test part, at most as many as are set."""
    num_test = sizes.num_instances - round(sizes.num_instances * config.conflict.calibration_share)
    limit = config.conflict.generation.num_per_type
    return num_test if limit is None else min(num_test, limit)


def _frame(config: Config, sizes: InstanceLoad, path: str) -> Frame:
    return read_frame(config, path, query=sizes.query_tokens, source=sizes.piece_tokens)
