"""Build the FAISS index of a corpus."""

from ctxaudit.artifacts import tensors
from ctxaudit.corpora import index
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

embeddings = tensors.read(snakemake.input.embeddings)["embeddings"]
index.write(snakemake.output.index, index.build(embeddings))
