"""Answer the test instances of all conflict types."""

from ctxaudit import prompts, responding, sharding
from ctxaudit.artifacts import records
from ctxaudit.config.conflict import Generation
from ctxaudit.llm.client import open_client
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

settings = Generation.model_validate(snakemake.params.settings)
chosen = responding.test_subset(
    records.read_examples(*snakemake.input.examples),
    settings.num_per_type,
    seed=snakemake.params.seed,
)
responses = responding.respond(
    sharding.take(chosen, snakemake.wildcards.shard),
    open_client(snakemake.params.engine, snakemake.params.model, snakemake.input.model),
    templates=prompts.read_by_task(snakemake.params.prompts),
    settings=settings,
)
records.write_responses(snakemake.output.responses, responses)
