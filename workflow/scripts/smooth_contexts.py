"""Let the generator join the segments into one document."""

from ctxaudit import prompts
from ctxaudit.artifacts import records
from ctxaudit.config.overlap import Smoothing
from ctxaudit.corpora import smoothing
from ctxaudit.llm.client import open_client
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

settings = Smoothing.model_validate(snakemake.params.settings)
examples = smoothing.smooth(
    records.read_examples(snakemake.input.examples),
    open_client(settings.generator, snakemake.params.model, snakemake.input.generator),
    prompts.read_task(snakemake.input.prompt),
    settings,
)
records.write_examples(snakemake.output.examples, examples)
