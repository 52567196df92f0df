"""What a configuration would cost, without running any of it."""


rule plan:
    """Print calls, tokens and model-hours per stage."""
    log:
        "logs/plan.log",
    conda:
        "../envs/core.yaml"
    params:
        config=plain(CONFIG),
    script:
        "../workflow/scripts/plan.py"
