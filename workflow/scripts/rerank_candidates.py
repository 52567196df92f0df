"""Let the judge score each candidate."""

from ctxaudit import prompts
from ctxaudit.artifacts import records
from ctxaudit.corpora import reranking
from ctxaudit.llm.client import open_client
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

candidates = reranking.rerank(
    records.read_examples(snakemake.input.questions),
    records.read_candidates(snakemake.input.candidates),
    open_client(snakemake.params.judge, snakemake.params.model, snakemake.input.judge),
    prompts.read_task(snakemake.input.prompt),
)
records.write_candidates(snakemake.output.candidates, candidates)
