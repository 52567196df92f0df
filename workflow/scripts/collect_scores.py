"""Put the scores of all methods into one long table."""

from ctxaudit import artifacts
from ctxaudit.attribution import apply
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

paths = zip(snakemake.params.runs, snakemake.input.attributions, strict=True)
scores = apply.long_table(
    artifacts.read_examples(snakemake.input.examples),
    {tuple(run): artifacts.read_attributions(path) for run, path in paths},
)
artifacts.write_table(
    snakemake.output.scores,
    scores.assign(dataset=snakemake.wildcards.dataset, model=snakemake.wildcards.model),
)
