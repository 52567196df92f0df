"""Compute the steering direction of each conflict type from the calibration part."""

from ctxaudit import artifacts
from ctxaudit.logs import log_to
from ctxaudit.probing import states

log_to(snakemake.log[0])

directions = states.directions(
    [example for path in snakemake.input.examples for example in artifacts.read_examples(path)],
    artifacts.read_tensors(snakemake.input.pairs),
    artifacts.read_tensors(snakemake.input.single),
)
artifacts.write_tensors(snakemake.output.directions, directions)
