"""Put the scores of all methods into one long table."""

from ctxaudit.artifacts import attributions, parquet, records
from ctxaudit.attribution import apply
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

paths = zip(snakemake.params.runs, snakemake.input.attributions, strict=True)
scores = apply.long_table(
    records.read_examples(snakemake.input.examples),
    {tuple(run): attributions.read(path) for run, path in paths},
)
parquet.write(
    snakemake.output.scores,
    scores.assign(dataset=snakemake.wildcards.dataset, model=snakemake.wildcards.model),
)
