"""ContextAudit: what a language model really takes from its context."""

from snakemake.utils import min_version

min_version("9.27")

# A file given with --configfile replaces the default; merged into it, the demo's models and
# datasets would stay in force beside the user's own.
if not workflow.overwrite_configfiles:

    configfile: "config/config.yaml"


report: "workflow/report/workflow.rst"


include: "rules/common.smk"
include: "rules/wildcards.smk"
include: "rules/models.smk"
include: "rules/corpora.smk"
include: "rules/finetuning.smk"
include: "rules/attribution.smk"
include: "rules/conflict.smk"
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
