"""Score every source of every example with one method."""

from ctxaudit import plugins
from ctxaudit.artifacts import attributions, evidence, records, subset_scores
from ctxaudit.attribution import apply
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

method = plugins.load("attribution", snakemake.wildcards.method)
scores = apply.attribute(
    snakemake.wildcards.method,
    evidence.read(method.EVIDENCE, snakemake.input.evidence),
    settings=snakemake.params.settings,
    p_empty=apply.no_context_probabilities(
        records.read_examples(snakemake.input.examples),
        records.read_responses(snakemake.input.responses),
        subset_scores.read_answers(snakemake.input.answers),
    ),
    seed=snakemake.params.seed,
)
attributions.write(snakemake.output.attributions, scores)
