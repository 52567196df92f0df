"""Judge all methods on one dataset and target model with one metric."""

from ctxaudit import artifacts, plugins
from ctxaudit.interface import OverlapResults
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

variants, runs = snakemake.params.variants, snakemake.params.runs
read_from = snakemake.input
results = OverlapResults(
    examples=artifacts.read_examples(read_from.examples),
    ablations=dict(zip(variants, map(artifacts.read_ablations, read_from.ablations), strict=True)),
    answers=dict(zip(variants, map(artifacts.read_answers, read_from.answers), strict=True)),
    attributions=dict(
        zip(
            map(tuple, runs),
            map(artifacts.read_attributions, read_from.attributions),
            strict=True,
        )
    ),
)
metric = plugins.load("metrics", snakemake.wildcards.metric)
settings = metric.Settings.model_validate(snakemake.params.settings)
table = metric.evaluate(results, settings, seed=snakemake.params.seed)
artifacts.write_table(
    snakemake.output.metrics,
    table.assign(dataset=snakemake.wildcards.dataset, model=snakemake.wildcards.model),
)
