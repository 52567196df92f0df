"""Compute the steering direction of each conflict type from the calibration part."""

from ctxaudit.artifacts import records, tensors
from ctxaudit.logs import log_to
from ctxaudit.probing import by_type

log_to(snakemake.log[0])

directions = by_type.directions(
    records.read_examples(*snakemake.input.examples),
    tensors.read(snakemake.input.pairs),
    tensors.read(snakemake.input.single),
)
tensors.write(snakemake.output.directions, directions)
