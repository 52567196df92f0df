"""Stop if the fine-tuning taught nothing."""

import pandas as pd

from ctxaudit import artifacts, recall
from ctxaudit.logs import announce, log_to

log_to(snakemake.log[0])

table = pd.concat(
    [artifacts.read_table(snakemake.input.base), artifacts.read_table(snakemake.input.tuned)]
).assign(dataset=snakemake.wildcards.dataset, model=snakemake.wildcards.model)
announce(f"{snakemake.wildcards.dataset}, {snakemake.wildcards.model}: {recall.describe(table)}")
recall.check_gain(table, min_gain=snakemake.params.min_gain)
artifacts.write_table(snakemake.output.recall, table)
