"""Convert a GGUF model into a safetensors folder."""

from pathlib import Path

from ctxaudit import models
from ctxaudit.config.models import GgufModel
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

models.convert(
    GgufModel.model_validate(snakemake.params.model), Path(snakemake.output.manifest).parent
)
