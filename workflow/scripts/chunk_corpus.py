"""Cut a corpus into passages."""

from ctxaudit import models
from ctxaudit.artifacts import records
from ctxaudit.config.overlap import Chunking
from ctxaudit.corpora import chunking, documents
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

passages = chunking.chunk(
    documents.read(snakemake.input.corpus, snakemake.wildcards.corpus),
    models.load_tokenizer(snakemake.input.tokenizer[0]),
    Chunking.model_validate(snakemake.params.settings),
)
records.write_passages(snakemake.output.passages, passages)
