"""The ways to evaluate log p(response | subset), each on the same token ids."""

import importlib.util
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from bench.ablation_engine.cases import TEMPLATE, Case
from ctxaudit import plugins
from ctxaudit.ablation import tables, token_distances
from ctxaudit.ablation.masks import all_masks
from ctxaudit.ablation.plain import LogProbs, TokenPair, score_plain
from ctxaudit.ablation.scorer import ScoreRequest, score
from ctxaudit.attribution import apply
from ctxaudit.interface import OverlapResults
from ctxaudit.models import LanguageModel
from ctxaudit.shapley.exact import exact

BATCH_TOKENS = 4096
METHODS = ("contextcite", "attribot", "tracllm", "token_shapley")
NUM_ABLATIONS = 64


def engine(model: LanguageModel, pairs: Sequence[TokenPair]) -> list[LogProbs]:
    """What the workflow does."""
    asked = [ScoreRequest(prompt, response, "bench") for prompt, response in pairs]
    return score(model, asked, batch_tokens=BATCH_TOKENS)


def one_by_one(model: LanguageModel, pairs: Sequence[TokenPair]) -> list[LogProbs]:
    """One pass per subset, nothing shared, logits at the response only."""
    return [dict(score_plain(model, [pair], batch_tokens=BATCH_TOKENS))[0] for pair in pairs]


@torch.inference_mode()
def bare(model: LanguageModel, *, length: int, batch_size: int, num_tokens: int) -> None:
    """Forward passes over random sequences, with one row of logits each: the machine's speed."""
    draw = torch.Generator().manual_seed(0)
    for _ in range(max(1, num_tokens // (length * batch_size))):
        ids = torch.randint(model.network.config.vocab_size, (batch_size, length), generator=draw)
        model.network(input_ids=ids, use_cache=False, logits_to_keep=1)


def whole_example(model: LanguageModel, case: Case) -> OverlapResults:
    """All subsets, then every method, exact Shapley values, Drop@k and LDS from their table."""
    examples, responses = [case.example], [case.response]
    masks = [all_masks(len(case.example.sources))]
    ablations = tables.score_ablations(
        examples, responses, masks, model=model, template=TEMPLATE, batch_tokens=BATCH_TOKENS
    )
    distances = list(
        token_distances.measure(
            examples, responses, model=model, template=TEMPLATE, batch_tokens=BATCH_TOKENS
        )
    )
    attributions = {}
    for name in METHODS:
        kind = plugins.load("attribution", name).EVIDENCE
        evidence = ablations if kind == "ablations" else distances
        found = apply.attribute(name, evidence, settings={}, p_empty=[0.25], seed=0)
        attributions["base", name] = found
    exact(ablations[0].masks, ablations[0].values())
    results = OverlapResults(
        examples=examples, ablations={"base": ablations}, answers={}, attributions=attributions
    )
    for name in ("drop_at_k", "lds"):
        metric = plugins.load("metrics", name)
        metric.evaluate(results, metric.Settings(), seed=0)
    return results


def has_context_cite() -> bool:
    """Whether the `bench` extra is installed."""
    return importlib.util.find_spec("context_cite") is not None


def context_cite(
    model: LanguageModel, case: Case
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.float64]]:
    """The peer's 64 random masks (64, S), one pass each, and their log-probabilities (64, T)."""
    from context_cite import ContextCiter
    from context_cite.context_partitioner import BaseContextPartitioner

    texts = np.array([source.text for source in case.example.sources])

    class Given(BaseContextPartitioner):  # type: ignore[misc]
        num_sources = len(texts)

        def split_context(self) -> None:
            """The sources are given."""

        def get_source(self, index: int) -> str:
            return str(texts[index])

        def get_context(self, mask: npt.NDArray[np.bool_] | None = None) -> str:
            return TEMPLATE.separator.join(texts if mask is None else texts[mask])

    context = TEMPLATE.separator.join(texts)
    citer = ContextCiter(
        model.network,
        model.tokenizer,
        context,
        case.example.query,
        num_ablations=NUM_ABLATIONS,
        partitioner=Given(context),
    )
    # Its own response would be generated; this one is given, to compare like with like.
    ids = [*case.pairs[-1][0], *case.pairs[-1][1]]
    citer._cache["output"] = model.tokenizer.decode(ids)
    citer.get_attributions(verbose=False)
    # It keeps the logit of each token's probability.
    logits = torch.as_tensor(citer._logit_probs).double()
    return citer._masks, torch.nn.functional.logsigmoid(logits).numpy()
