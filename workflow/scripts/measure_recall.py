"""Answer every question with no context and with the full one."""

from pathlib import Path

import numpy as np

from ctxaudit import models, prompts, recall
from ctxaudit.ablation import tables
from ctxaudit.ablation.store import ScoreStore
from ctxaudit.artifacts import parquet, records
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

examples = records.read_examples(snakemake.input.examples)
model = models.load(
    snakemake.input.model[0], dtype=snakemake.params.dtype, adapter=snakemake.input.adapter or None
)
with ScoreStore(Path("results/store/scores"), model.digest) as store:
    answers = tables.score_answers(
        examples,
        [np.array([[keep] * len(e.sources) for keep in (False, True)]) for e in examples],
        model=model,
        template=prompts.read(snakemake.input.prompt),
        scoring=snakemake.params.scoring,
        batch_tokens=snakemake.params.batch_tokens,
        store=store,
    )
parquet.write(
    snakemake.output.recall, recall.tabulate(answers, variant=snakemake.wildcards.variant)
)
