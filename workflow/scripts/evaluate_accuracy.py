"""Compare the answers to reasoning conflicts with the gold labels."""

from ctxaudit import accuracy, artifacts
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

table = accuracy.evaluate(
    [example for path in snakemake.input.examples for example in artifacts.read_examples(path)],
    artifacts.read_responses(snakemake.input.responses),
)
artifacts.write_table(
    snakemake.output.accuracy,
    table.assign(model=snakemake.wildcards.model, steering=snakemake.wildcards.steering),
)
