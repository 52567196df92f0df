"""Copy or fetch a model folder."""

from pathlib import Path

from ctxaudit import config, models
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

models.snapshot(config.model(snakemake.params.model), Path(snakemake.output.manifest).parent)
