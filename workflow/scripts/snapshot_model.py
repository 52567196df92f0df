"""Copy or fetch a model folder."""

from pathlib import Path

from ctxaudit import models
from ctxaudit.config.models import parse_model
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

models.snapshot(parse_model(snakemake.params.model), Path(snakemake.output.manifest).parent)
