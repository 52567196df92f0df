"""Answer the test instances while the direction is added to the residual stream."""

from ctxaudit import models, prompts, responding, sharding
from ctxaudit.artifacts import records, tensors
from ctxaudit.config.conflict import Generation
from ctxaudit.logs import log_to
from ctxaudit.steering import responses

log_to(snakemake.log[0])

settings = Generation.model_validate(snakemake.params.settings)
chosen = responding.test_subset(
    records.read_examples(*snakemake.input.examples),
    settings.num_per_type,
    seed=snakemake.params.seed,
)
steered = responses.respond_by_type(
    sharding.take(chosen, snakemake.wildcards.shard),
    tensors.read(snakemake.input.directions),
    alpha=snakemake.params.alpha,
    schedule=snakemake.wildcards.schedule,
    layers=snakemake.params.layers,
    model=models.load(snakemake.input.model[0], dtype=snakemake.params.dtype),
    templates=prompts.read_by_task(snakemake.params.prompts),
    settings=settings,
)
records.write_responses(snakemake.output.responses, steered)
