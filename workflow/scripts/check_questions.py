"""Stop early if a question does not fit the window of a target model."""

from dataclasses import asdict

from ctxaudit import models, preflight, prompts
from ctxaudit.artifacts import records, writing
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

model = models.load(snakemake.input.model[0], dtype=snakemake.params.dtype)
demands = preflight.of_questions(
    records.read_examples(snakemake.input.questions),
    template=prompts.read(snakemake.input.prompt),
    scoring=snakemake.params.scoring,
    tokenizer=model.tokenizer,
)
largest = preflight.check_window(demands, model, name=snakemake.wildcards.model)
writing.write_json(
    snakemake.output.checked, {"window": model.max_tokens, "largest": asdict(largest)}
)
