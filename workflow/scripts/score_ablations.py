"""Assemble v(S) of every response; the model is asked only for what the store lacks."""

from pathlib import Path

from ctxaudit import models, prompts, sharding
from ctxaudit.ablation import planner, tables
from ctxaudit.ablation.store import ScoreStore
from ctxaudit.artifacts import records, subset_scores
from ctxaudit.config.overlap import Ablation
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

examples = sharding.take(records.read_examples(snakemake.input.examples), snakemake.wildcards.shard)
settings = Ablation.model_validate(snakemake.params.ablation)
model = models.load(
    snakemake.input.model[0], dtype=snakemake.params.dtype, adapter=snakemake.input.adapter or None
)
with ScoreStore(Path("results/store/scores"), model.digest) as store:
    ablations = tables.score_ablations(
        examples,
        records.read_responses(snakemake.input.responses),
        planner.plan(
            examples,
            snakemake.params.methods,
            snakemake.params.metrics,
            exact_limit=settings.exact_limit,
            seed=snakemake.params.seed,
        ),
        model=model,
        template=prompts.read(snakemake.input.prompt),
        scoring=snakemake.params.scoring,
        batch_tokens=settings.batch_tokens,
        store=store,
    )
subset_scores.write_ablations(snakemake.output.ablations, ablations)
