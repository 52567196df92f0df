"""Select the best segments of both corpora and shuffle them."""

from ctxaudit.artifacts import records
from ctxaudit.corpora import selection
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

examples = selection.select(
    records.read_examples(snakemake.input.questions),
    records.read_candidates(snakemake.input.retain),
    records.read_candidates(snakemake.input.forget),
    num_iw=snakemake.params.num_iw,
    num_icl=snakemake.params.num_icl,
    seed=snakemake.params.seed,
)
records.write_examples(snakemake.output.examples, examples)
