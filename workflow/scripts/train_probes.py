"""Train a probe per layer and conflict type."""

from ctxaudit.artifacts import parquet, records, tensors
from ctxaudit.config.conflict import Probing
from ctxaudit.logs import log_to
from ctxaudit.probing import by_type

log_to(snakemake.log[0])

table = by_type.probe(
    records.read_examples(*snakemake.input.examples),
    tensors.read(snakemake.input.pairs),
    Probing.model_validate(snakemake.params.settings),
    seed=snakemake.params.seed,
)
parquet.write(snakemake.output.probes, table.assign(model=snakemake.wildcards.model))
