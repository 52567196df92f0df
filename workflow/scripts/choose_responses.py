"""Take the best option under the full context as the model's own response."""

from ctxaudit.ablation import choices
from ctxaudit.artifacts import records, subset_scores
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

responses = choices.choose_responses(
    records.read_examples(snakemake.input.examples),
    subset_scores.read_answers(snakemake.input.answers),
)
records.write_responses(snakemake.output.responses, responses)
