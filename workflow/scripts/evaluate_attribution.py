"""Judge all methods on one dataset and target model with one metric."""

from ctxaudit import plugins
from ctxaudit.artifacts import attributions, parquet, records, subset_scores
from ctxaudit.interface import OverlapResults
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

variants, runs = snakemake.params.variants, snakemake.params.runs
read_from = snakemake.input
results = OverlapResults(
    examples=records.read_examples(read_from.examples),
    ablations=dict(
        zip(variants, map(subset_scores.read_ablations, read_from.ablations), strict=True)
    ),
    answers=dict(zip(variants, map(subset_scores.read_answers, read_from.answers), strict=True)),
    attributions=dict(
        zip(
            map(tuple, runs),
            map(attributions.read, read_from.attributions),
            strict=True,
        )
    ),
)
metric = plugins.load("metrics", snakemake.wildcards.metric)
settings = metric.Settings.model_validate(snakemake.params.settings)
table = metric.evaluate(results, settings, seed=snakemake.params.seed)
parquet.write(
    snakemake.output.metrics,
    table.assign(dataset=snakemake.wildcards.dataset, model=snakemake.wildcards.model),
)
