"""Embed the passages of a corpus."""

from ctxaudit.artifacts import records, tensors
from ctxaudit.config.overlap import Embedding
from ctxaudit.corpora import embedding
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

passages = records.read_passages(snakemake.input.passages)
embedder = embedding.load(
    snakemake.input.model[0], Embedding.model_validate(snakemake.params.settings)
)
tensors.write(snakemake.output.embeddings, {"embeddings": embedder.embed_passages(passages)})
