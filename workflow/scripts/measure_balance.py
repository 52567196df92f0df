"""Compute Shapley values of the evidence and how unequally they are spread."""

from ctxaudit import balance
from ctxaudit.artifacts import parquet, records, subset_scores
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

examples = records.read_examples(*snakemake.input.examples)
table = balance.measure(
    subset_scores.read_ablations(snakemake.input.ablations),
    records.read_responses(snakemake.input.responses),
    {example.id: example.tags["conflict_type"] for example in examples},
)
parquet.write(
    snakemake.output.balance,
    table.assign(model=snakemake.wildcards.model, steering=snakemake.wildcards.steering),
)
