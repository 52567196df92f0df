"""What a configuration would cost, without running any of it."""


rule plan:
    """Print tokens and model-hours, calls and dollars, per stage."""
    log:
        "logs/plan.log",
    conda:
        "../envs/torch.yaml"
    params:
        config=plain(CONFIG),
        # What exists of them is read; as inputs they would be made.
        artifacts={
            "questions": str(rules.load_questions.output.questions),
            "candidates": str(rules.retrieve_candidates.output.candidates),
            "contexts": str(rules.assemble_contexts.output.examples),
            "instances": str(rules.build_conflicts.output.examples),
        },
        seed=seed_of("test_subset"),
    script:
        "../workflow/scripts/plan.py"
