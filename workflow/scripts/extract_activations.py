"""Collect last-token residual streams of conflict, consistent and single-evidence prompts."""

from ctxaudit import models, prompts
from ctxaudit.artifacts import records, tensors
from ctxaudit.logs import log_to
from ctxaudit.probing import states

log_to(snakemake.log[0])

examples = records.read_examples(*snakemake.input.examples)
model = models.load(snakemake.input.model[0], dtype=snakemake.params.dtype)
batch_size = snakemake.params.batch_size
combined = prompts.read_by_task(snakemake.params.prompts)
single = prompts.read_by_task(snakemake.params.prompts, prefix="single_")
tensors.write(
    snakemake.output.pairs, states.of_pairs(examples, model, combined, batch_size=batch_size)
)
tensors.write(
    snakemake.output.single,
    states.of_single_evidence(examples, model, single, batch_size=batch_size),
)
