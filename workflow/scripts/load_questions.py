"""Read and check a question set."""

from ctxaudit import plugins
from ctxaudit.artifacts import records
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

loader = plugins.load("datasets", snakemake.params.loader)
records.write_examples(snakemake.output.questions, loader.load(snakemake.input.questions))
