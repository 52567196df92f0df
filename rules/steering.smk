"""Steering towards the neutral centre: the direction, and responses under it."""


rule compute_direction:
    """Compute the steering direction of each conflict type from the calibration part."""
    input:
        examples=expand("results/conflict/examples/{conflict}.jsonl", conflict=CONFLICTS),
        pairs="results/conflict/activations/{model}/pairs.safetensors",
        single="results/conflict/activations/{model}/single.safetensors",
    output:
        directions="results/conflict/directions/{model}.safetensors",
    log:
        "logs/conflict/directions/{model}.log",
    benchmark:
        "benchmarks/conflict/directions/{model}.tsv"
    conda:
        "../envs/core.yaml"
    params:
        code=code("compute_direction"),
    script:
        "../workflow/scripts/compute_direction.py"


rule steer_responses:
    """Answer the test instances while the direction is added to the residual stream."""
    input:
        examples=expand("results/conflict/examples/{conflict}.jsonl", conflict=CONFLICTS),
        prompts=conflict_prompts,
        model=target_manifest,
        directions="results/conflict/directions/{model}.safetensors",
    output:
        responses="results/shards/conflict/responses/{model}/{schedule}/{shard}.jsonl",
    log:
        "logs/shards/conflict/responses/{model}/{schedule}/{shard}.log",
    benchmark:
        "benchmarks/shards/conflict/responses/{model}/{schedule}/{shard}.tsv"
    conda:
        "../envs/torch.yaml"
    threads: 4
    params:
        dtype=target_dtype,
        prompts=PROMPTS,
        settings=plain(CONFIG.conflict.generation, "engines"),
        alpha=CONFIG.conflict.steering.alpha,
        layers=CONFIG.conflict.steering.layers,
        seed=seed_of("test_subset"),
        code=code("steer_responses"),
    script:
        "../workflow/scripts/steer_responses.py"
