"""Compute Shapley values of the evidence and how unequally they are spread."""

from ctxaudit import artifacts, balance
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

examples = [e for path in snakemake.input.examples for e in artifacts.read_examples(path)]
table = balance.measure(
    artifacts.read_ablations(snakemake.input.ablations),
    {example.id: example.tags["conflict_type"] for example in examples},
)
artifacts.write_table(
    snakemake.output.balance,
    table.assign(model=snakemake.wildcards.model, steering=snakemake.wildcards.steering),
)
