"""Stop early if an instance does not fit a target model's window, or a steered block is missing."""

from dataclasses import asdict

from ctxaudit import models, preflight, prompts, responding
from ctxaudit.artifacts import records, writing
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

params, name = snakemake.params, snakemake.wildcards.model
num_blocks = preflight.check_layers(params.layers, snakemake.input.model[0], name=name)
model = models.load(snakemake.input.model[0], dtype=params.dtype)
examples = records.read_examples(*snakemake.input.examples)
demands = preflight.of_instances(
    examples,
    combined=prompts.read_by_task(params.prompts),
    single=prompts.read_by_task(params.prompts, prefix="single_"),
    answered=responding.test_subset(examples, params.num_per_type, seed=params.seed),
    max_new_tokens=params.max_new_tokens,
    tokenizer=model.tokenizer,
)
largest = preflight.check_window(demands, model, name=name)
writing.write_json(
    snakemake.output.checked,
    {"window": model.max_tokens, "largest": asdict(largest), "num_blocks": num_blocks},
)
