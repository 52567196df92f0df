"""Read and check a question set, and take the sample that is asked for."""

from ctxaudit import plugins
from ctxaudit.artifacts import records
from ctxaudit.datasets import sampling
from ctxaudit.logs import log_to

log_to(snakemake.log[0])

dataset = snakemake.params.dataset
loader = plugins.load("datasets", dataset["loader"])
examples = sampling.sample(
    loader.load(dataset["path"]), num_examples=dataset["num_examples"], seed=dataset["seed"]
)
records.write_examples(snakemake.output.questions, examples)
