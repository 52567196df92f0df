"""Print calls, tokens and model-hours per stage."""

import sys

from ctxaudit.config.root import Config
from ctxaudit.logs import log_to
from ctxaudit.planning import plan

log_to(snakemake.log[0])

table = plan.plan(Config.model_validate(snakemake.params.config))
sys.stdout.write(plan.show(table) + "\n")
