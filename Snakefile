"""ContextAudit: what a language model really takes from its context."""

from snakemake.utils import min_version

min_version("9.27")


report: "workflow/report/workflow.rst"


include: "rules/common.smk"
include: "rules/wildcards.smk"
include: "rules/models.smk"
include: "rules/sharding.smk"
include: "rules/corpora.smk"
include: "rules/finetuning.smk"
include: "rules/attribution.smk"
include: "rules/conflict.smk"
include: "rules/preflight.smk"
include: "rules/probing.smk"
include: "rules/steering.smk"
include: "rules/report.smk"
include: "rules/planning.smk"


localrules:
    all,
    overlap,
    conflict,
    plan,


rule all:
    """Both studies: every table and figure."""
    default_target: True
    input:
        rules.overlap.input,
        rules.conflict.input,
