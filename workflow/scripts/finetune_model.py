"""Fine-tune a target model on the retain corpus."""

from pathlib import Path

from ctxaudit import finetuning
from ctxaudit.config.overlap import FineTuning
from ctxaudit.corpora import documents
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

finetuning.finetune(
    [document.text for document in documents.read(snakemake.input.corpus, "retain")],
    model=Path(snakemake.input.model[0]),
    settings=FineTuning.model_validate(snakemake.params.settings),
    modules=snakemake.params.modules,
    seed=snakemake.params.seed,
    folder=Path(snakemake.output.adapter).parent,
)
