"""Score every source of every example with one method."""

from ctxaudit import artifacts, plugins
from ctxaudit.attribution import apply
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

method = plugins.load("attribution", snakemake.wildcards.method)
attributions = apply.attribute(
    snakemake.wildcards.method,
    artifacts.read_evidence(method.EVIDENCE, snakemake.input.evidence),
    settings=snakemake.params.settings,
    p_empty=apply.no_context_probabilities(
        artifacts.read_examples(snakemake.input.examples),
        artifacts.read_responses(snakemake.input.responses),
        artifacts.read_answers(snakemake.input.answers),
    ),
    seed=snakemake.params.seed,
)
artifacts.write_attributions(snakemake.output.attributions, attributions)
