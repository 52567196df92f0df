"""Compare the answers to reasoning conflicts with the gold labels."""

from ctxaudit import accuracy
from ctxaudit.artifacts import parquet, records
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

table = accuracy.evaluate(
    records.read_examples(*snakemake.input.examples),
    records.read_responses(snakemake.input.responses),
)
parquet.write(
    snakemake.output.accuracy,
    table.assign(model=snakemake.wildcards.model, steering=snakemake.wildcards.steering),
)
