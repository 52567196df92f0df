"""Build the FAISS index of a corpus."""

from ctxaudit import artifacts
from ctxaudit.corpora import index
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

embeddings = artifacts.read_tensors(snakemake.input.embeddings)["embeddings"]
index.write(snakemake.output.index, index.build(embeddings))
