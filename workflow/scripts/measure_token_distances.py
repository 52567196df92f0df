"""Measure final-layer distances between response and context tokens."""

from ctxaudit import models, prompts, sharding
from ctxaudit.ablation import token_distances
from ctxaudit.artifacts import evidence, records
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

model = models.load(
    snakemake.input.model[0], dtype=snakemake.params.dtype, adapter=snakemake.input.adapter or None
)
distances = token_distances.measure(
    sharding.take(records.read_examples(snakemake.input.examples), snakemake.wildcards.shard),
    records.read_responses(snakemake.input.responses),
    model=model,
    template=prompts.read(snakemake.input.prompt),
    scoring=snakemake.params.scoring,
    batch_tokens=snakemake.params.batch_tokens,
)
evidence.write_token_distances(snakemake.output.distances, distances)
