"""Synthetic frames for the report: as the workflow writes them, empty, or undefined throughout."""

import itertools

import numpy as np
import pandas as pd

from ctxaudit.report.frames import COLUMNS

METHODS = ("attribot", "contextcite", "token_shapley", "tracllm")
REASONING = ("inferential", "misinformation")
SUMMARIZATION = ("ambiguity", "perspective")
STEERINGS = ("none", "first_generated", "all_tokens")


def full(seed: int = 0, models: tuple[str, ...] = ("smollm2",)) -> dict[str, pd.DataFrame]:
    """Frames of every kind with plausible values."""
    rng = np.random.default_rng(seed)
    builders = {
        "metrics": _metrics,
        "recall": _recall,
        "scores": _scores,
        "examples": _examples,
        "candidates": _candidates,
        "conflict_accuracy": _accuracy,
        "balance": _balance,
        "probes": _probes,
    }
    return {
        kind: pd.DataFrame(
            [row for model in models for row in build(rng, model)],
            columns=[*COLUMNS[kind]],
        )
        for kind, build in builders.items()
    }


def empty() -> dict[str, pd.DataFrame]:
    """Frames without rows."""
    return {kind: pd.DataFrame(columns=list(columns)) for kind, columns in COLUMNS.items()}


def undefined() -> dict[str, pd.DataFrame]:
    """Frames whose every measured value is NaN with a reason."""
    frames = full()
    measured = {
        "metrics": ["value"],
        "recall": ["correct"],
        "scores": ["score"],
        "candidates": ["similarity", "relevance"],
        "conflict_accuracy": ["strict", "lenient"],
        "balance": ["balance", "gain"],
        "probes": ["auc", "auc_sd"],
    }
    for kind, columns in measured.items():
        frames[kind][columns] = np.nan
        frames[kind]["reason"] = "made undefined"
    frames["metrics"]["num_undefined"] = frames["metrics"]["num_examples"]
    frames["balance"]["shares"] = [[np.nan] * n for n in frames["balance"]["num_sources"]]
    return frames


def one_method() -> dict[str, pd.DataFrame]:
    """Frames of a run with one method, one conflict type and one example."""
    frames = full()
    for kind in ("metrics", "scores"):
        frames[kind] = frames[kind][frames[kind]["method"] == "attribot"]
    for kind in ("conflict_accuracy", "balance", "probes"):
        first = frames[kind]["conflict_type"].iloc[0]
        frames[kind] = frames[kind][frames[kind]["conflict_type"] == first]
    for kind in ("recall", "scores", "examples", "candidates", "conflict_accuracy", "balance"):
        first = frames[kind]["example_id"].iloc[0]
        frames[kind] = frames[kind][frames[kind]["example_id"] == first]
    return frames


def _metrics(rng, model):
    def row(metric, method, variant, parameter, value, n=24, undefined=0):
        reason = f"no scores: {undefined}" if undefined else ""
        return ("demo", model, metric, method, variant, parameter, value, reason, n, undefined)

    for method in METHODS:
        yield row("cac", method, "both", "rho=0.5", rng.uniform(0.3, 0.6), undefined=1)
        yield row("cac_chance", method, "both", "rho=0.5", 0.3125)
        for k in (1, 2):
            for name in ("gain", "util", "rmi", "bcs"):
                yield row(name, method, "base", f"k={k}", rng.uniform(0.1, 0.9))
            yield row("aps", method, "both", f"k={k},rho=0.5", rng.uniform(0.1, 0.9))
        for variant in ("base", "tuned"):
            yield row("drop_at_k", method, variant, "k=1", rng.uniform(0, 20))
            for masks in ("held-out", "all"):
                yield row("lds", method, variant, f"masks={masks}", rng.uniform(0, 1))
        for name in ("ssp", "auc"):
            yield row(name, method, "tuned", "", rng.uniform(0.4, 0.6), n=9)


def _recall(rng, model):
    for variant, context, number in itertools.product(
        ("base", "tuned"), ("none", "full"), range(24)
    ):
        share = 0.3 if (variant, context) == ("base", "none") else 0.85
        yield ("demo", model, variant, context, f"q{number}", float(rng.random() < share), "")


def _scores(rng, model):
    for variant, method, number, source in itertools.product(
        ("base", "tuned"), METHODS, range(24), range(4)
    ):
        score = rng.normal(1.0 if variant == "base" else 0.4)
        kind = "iw" if source < 2 else "icl"
        yield ("demo", model, variant, method, f"q{number}", source, kind, score, kind, "")


def _examples(rng, model):
    for number in range(24):
        fault = "markers lost" if number % 6 == 0 else ""
        outcome = "unparsable" if fault else "valid"
        yield ("demo", f"q{number}", 4, "no" if fault else "yes", fault, outcome)


def _candidates(rng, model):
    for corpus, number in itertools.product(("retain", "forget"), range(48)):
        bad = number == 5
        relevance = np.nan if bad else rng.uniform(0, 10)
        reason = "unparsable" if bad else ""
        yield ("demo", corpus, f"q{number // 2}", rng.uniform(0.2, 0.9), relevance, reason)


def _accuracy(rng, model):
    for steering, name, number in itertools.product(STEERINGS, REASONING, range(16)):
        outcome = ("correct", "wrong", "unanswered")[number % 3]
        reason = "no complete answer tag" if outcome == "unanswered" else ""
        right = int(outcome == "correct")
        ident = f"{name}-{number}"
        finish = "length" if number % 5 == 0 else "stop"
        judged = (outcome, right, right, "answer tag" if right else "")
        yield (model, steering, ident, name, *judged, finish, 80, reason)


def _balance(rng, model):
    for steering, name, number in itertools.product(STEERINGS, SUMMARIZATION, range(16)):
        num = 2 + number % 3
        shares = list(rng.dirichlet(np.linspace(3, 1, num)))
        bad = number == 3
        value = np.nan if bad else rng.uniform(0.1, 0.6)
        if bad:
            shares = [np.nan] * num
        reason = "no positive contribution" if bad else ""
        ident = f"{name}-{number}"
        ended = ("length" if number % 5 == 0 else "stop", reason)
        yield (model, steering, ident, name, num, shares, shares, value, 3.0, *ended)


def _probes(rng, model):
    for name in (*REASONING, *SUMMARIZATION):
        for layer in range(-1, 9):
            auc = 1.0 if layer < 0 else 0.5 + 0.45 * np.tanh(layer / 3) * rng.uniform(0.9, 1)
            yield (model, name, layer, auc, 0.05, 24, 5, layer != 7, "")
