"""Find the passages nearest to each question with its gold answer."""

from ctxaudit.artifacts import records
from ctxaudit.config.overlap import Embedding, Retrieval
from ctxaudit.corpora import embedding, index, retrieval
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

candidates = retrieval.retrieve(
    records.read_examples(snakemake.input.questions),
    records.read_passages(snakemake.input.passages),
    index.read(snakemake.input.index),
    embedding.load(snakemake.input.model[0], Embedding.model_validate(snakemake.params.embedding)),
    Retrieval.model_validate(snakemake.params.retrieval),
)
records.write_candidates(snakemake.output.candidates, candidates)
