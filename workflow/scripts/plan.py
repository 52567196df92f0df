"""Print calls, tokens and model-hours per stage."""

import sys

from ctxaudit import planning
from ctxaudit.config import Config
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

table = planning.plan(Config.model_validate(snakemake.params.config))
sys.stdout.write(planning.show(table) + "\n")
