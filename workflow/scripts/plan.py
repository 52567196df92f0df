"""Print what models of this machine will do, and what calls to others will cost."""

import sys

from ctxaudit.config.root import Config
from ctxaudit.llm.client import LEDGER
from ctxaudit.llm.ledger import Ledger
from ctxaudit.llm.store import FOLDER
from ctxaudit.logs import log_to
from ctxaudit.planning import bill, bill_text, calls, plan, workload

log_to(snakemake.log[0])

config = Config.model_validate(snakemake.params.config)
load = workload.measure(config)
artifacts = calls.Artifacts(**snakemake.params.artifacts)
parts = calls.plan(config, load, artifacts, store=FOLDER, seed=snakemake.params.seed)
account = Ledger(LEDGER).totals() if LEDGER.exists() else None
shown = [
    plan.show(plan.plan(config, load)),
    bill_text.show(bill.bill(parts, config), config, account),
]
sys.stdout.write("\n\n".join(shown) + "\n")
