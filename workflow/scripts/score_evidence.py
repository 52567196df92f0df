"""Score each response to a summarization conflict under every subset of its evidence."""

from pathlib import Path

from ctxaudit import models, prompts, sharding
from ctxaudit.ablation import tables
from ctxaudit.ablation.store import ScoreStore
from ctxaudit.artifacts import records, subset_scores
from ctxaudit.config.conflict import Balance
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

settings = Balance.model_validate(snakemake.params.settings)
model = models.load(snakemake.input.scorer[0], dtype=settings.dtype)
with ScoreStore(Path("results/store/scores"), model.digest) as store:
    ablations = tables.score_all_subsets(
        sharding.take(records.read_examples(*snakemake.input.examples), snakemake.wildcards.shard),
        records.read_responses(snakemake.input.responses),
        max_sources=settings.exact_limit,
        model=model,
        template=prompts.read(snakemake.input.prompt),
        batch_tokens=snakemake.params.batch_tokens,
        store=store,
    )
subset_scores.write_ablations(snakemake.output.ablations, ablations)
