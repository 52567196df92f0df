"""Faults that would else show after hours: cheap checks that go before all costly stages.

No stage waits for these checks: they go first by their priority, and their results are inputs of
the targets `overlap` and `conflict` only, so that a changed check never runs a stage again.
"""


onstart:
    check_keys(workflow.dag.needrun_jobs())


rule check_questions:
    """Stop early if a question does not fit the window of a target model."""
    input:
        questions="results/overlap/questions/{dataset}.jsonl",
        prompt=text_file("overlap.answering.prompt"),
        model=target_manifest,
    output:
        checked="results/overlap/preflight/{dataset}/{model}.json",
    log:
        "logs/overlap/preflight/{dataset}/{model}.log",
    benchmark:
        "benchmarks/overlap/preflight/{dataset}/{model}.tsv"
    priority: 100
    conda:
        "../envs/torch.yaml"
    params:
        dtype=target_dtype,
        scoring=CONFIG.overlap.answering.scoring,
        code=code("check_questions"),
    script:
        "../workflow/scripts/check_questions.py"


rule check_instances:
    """Stop early if an instance does not fit a target model, or a steered block is missing."""
    input:
        examples=expand("results/conflict/examples/{conflict}.jsonl", conflict=CONFLICTS),
        prompts=conflict_prompts,
        model=target_manifest,
    output:
        checked="results/conflict/preflight/{model}.json",
    log:
        "logs/conflict/preflight/{model}.log",
    benchmark:
        "benchmarks/conflict/preflight/{model}.tsv"
    priority: 100
    conda:
        "../envs/torch.yaml"
    params:
        dtype=target_dtype,
        prompts=PROMPTS,
        num_per_type=CONFIG.conflict.generation.num_per_type,
        max_new_tokens=CONFIG.conflict.generation.max_new_tokens,
        layers=CONFIG.conflict.steering.layers,
        seed=seed_of("test_subset"),
        code=code("check_instances"),
    script:
        "../workflow/scripts/check_instances.py"
