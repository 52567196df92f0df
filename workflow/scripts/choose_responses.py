"""Take the best option under the full context as the model's own response."""

from ctxaudit import artifacts
from ctxaudit.ablation import tables
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

responses = tables.choose_responses(
    artifacts.read_examples(snakemake.input.examples),
    artifacts.read_answers(snakemake.input.answers),
)
artifacts.write_responses(snakemake.output.responses, responses)
