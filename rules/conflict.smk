"""Instances of the six conflict types → responses → accuracy and Shapley Balance."""

PROMPTS = plain(CONFIG.conflict.prompts)
SUMMARIZED = [
    conflict for conflict in CONFLICTS if plugins.load("conflict", conflict).TASK == "summarization"
]


rule build_conflicts:
    """Read the instances of a conflict type, build their consistent twins, split them."""
    input:
        instances=json_files("conflict.instances.{conflict}"),
    output:
        examples="results/conflict/examples/{conflict}.jsonl",
    log:
        "logs/conflict/examples/{conflict}.log",
    benchmark:
        "benchmarks/conflict/examples/{conflict}.tsv"
    # Cheap checks of the raw input go first: a fault must show before costly work starts.
    priority: 100
    conda:
        "../envs/core.yaml"
    params:
        folder=instance_folder,
        calibration_share=CONFIG.conflict.calibration_share,
        seed=seed_of("build_conflicts"),
        code=instance_code,
    script:
        "../workflow/scripts/build_conflicts.py"


rule generate_responses:
    """Answer the test instances of all conflict types."""
    input:
        examples=expand("results/conflict/examples/{conflict}.jsonl", conflict=CONFLICTS),
        prompts=conflict_prompts,
        model=engine_manifest,
    output:
        responses="results/shards/conflict/responses/{model}/none/{shard}.jsonl",
    log:
        "logs/shards/conflict/responses/{model}/none/{shard}.log",
    benchmark:
        "benchmarks/shards/conflict/responses/{model}/none/{shard}.tsv"
    conda:
        "../envs/torch.yaml"
    threads: 4
    params:
        engine=engine,
        model=engine_entry,
        prompts=PROMPTS,
        settings=plain(CONFIG.conflict.generation, "engines"),
        seed=seed_of("test_subset"),
        code=code("generate_responses"),
    script:
        "../workflow/scripts/generate_responses.py"


rule evaluate_accuracy:
    """Compare the answers to reasoning conflicts with the gold labels."""
    input:
        examples=expand("results/conflict/examples/{conflict}.jsonl", conflict=CONFLICTS),
        responses="results/conflict/responses/{model}/{steering}.jsonl",
    output:
        accuracy="results/conflict/accuracy/{model}/{steering}.parquet",
    log:
        "logs/conflict/accuracy/{model}/{steering}.log",
    benchmark:
        "benchmarks/conflict/accuracy/{model}/{steering}.tsv"
    conda:
        "../envs/core.yaml"
    params:
        code=code("evaluate_accuracy"),
    script:
        "../workflow/scripts/evaluate_accuracy.py"


rule score_evidence:
    """Score each response to a summarization conflict under every subset of its evidence."""
    input:
        examples=expand("results/conflict/examples/{conflict}.jsonl", conflict=SUMMARIZED),
        responses="results/conflict/responses/{model}/{steering}.jsonl",
        prompt=text_file("conflict.balance.prompt"),
        scorer=manifest(CONFIG.conflict.balance.scorer),
    output:
        ablations="results/shards/conflict/ablations/{model}/{steering}/{shard}.parquet",
    log:
        "logs/shards/conflict/ablations/{model}/{steering}/{shard}.log",
    benchmark:
        "benchmarks/shards/conflict/ablations/{model}/{steering}/{shard}.tsv"
    conda:
        "../envs/torch.yaml"
    threads: 4
    params:
        settings=plain(CONFIG.conflict.balance),
        batch_tokens=CONFIG.overlap.ablation.batch_tokens,
        code=code("score_evidence"),
    script:
        "../workflow/scripts/score_evidence.py"


rule measure_balance:
    """Compute Shapley values of the evidence and how unequally they are spread."""
    input:
        examples=expand("results/conflict/examples/{conflict}.jsonl", conflict=SUMMARIZED),
        ablations="results/conflict/ablations/{model}/{steering}.parquet",
        responses="results/conflict/responses/{model}/{steering}.jsonl",
    output:
        balance="results/conflict/balance/{model}/{steering}.parquet",
    log:
        "logs/conflict/balance/{model}/{steering}.log",
    benchmark:
        "benchmarks/conflict/balance/{model}/{steering}.tsv"
    conda:
        "../envs/core.yaml"
    params:
        code=code("measure_balance"),
    script:
        "../workflow/scripts/measure_balance.py"
