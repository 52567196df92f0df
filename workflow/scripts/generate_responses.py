"""Answer the test instances of all conflict types."""

from ctxaudit import models, prompts, responding, sharding
from ctxaudit.artifacts import records
from ctxaudit.config.conflict import Generation
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

settings = Generation.model_validate(snakemake.params.settings)
chosen = responding.test_subset(
    records.read_examples(*snakemake.input.examples),
    settings.num_per_type,
    seed=snakemake.params.seed,
)
examples = sharding.take(chosen, snakemake.wildcards.shard)
responses = responding.respond(
    examples,
    model=models.load(snakemake.input.model[0], dtype=snakemake.params.dtype),
    templates=prompts.read_by_task(snakemake.params.prompts),
    settings=settings,
)
records.write_responses(snakemake.output.responses, responses)
