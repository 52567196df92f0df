"""Put the shards of one table together, in the order of the examples."""

from ctxaudit import sharding
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

sharding.gather(snakemake.input.shards, snakemake.output.table)
