"""Stop if the fine-tuning taught nothing."""

import pandas as pd

from ctxaudit import recall
from ctxaudit.artifacts import parquet
from ctxaudit.logs import announce, log_to

log_to(snakemake.log[0])

parts = map(parquet.read, (snakemake.input.base, snakemake.input.tuned))
table = pd.concat(parts).assign(
    dataset=snakemake.wildcards.dataset, model=snakemake.wildcards.model
)
announce(f"{snakemake.wildcards.dataset}, {snakemake.wildcards.model}: {recall.describe(table)}")
recall.check_gain(table, min_gain=snakemake.params.min_gain)
parquet.write(snakemake.output.recall, table)
