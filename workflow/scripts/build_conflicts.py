"""Read the instances of a conflict type, build their consistent twins, split them."""

from ctxaudit.artifacts import records
from ctxaudit.conflict import building
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

examples = building.build(
    snakemake.wildcards.conflict,
    snakemake.params.folder,
    calibration_share=snakemake.params.calibration_share,
    seed=snakemake.params.seed,
)
records.write_examples(snakemake.output.examples, examples)
