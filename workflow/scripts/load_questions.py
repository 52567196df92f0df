"""Read and check a question set."""

from ctxaudit import artifacts, plugins
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

loader = plugins.load("datasets", snakemake.params.loader)
artifacts.write_examples(snakemake.output.questions, loader.load(snakemake.input.questions))
