"""Hidden states of the target models, and linear probes of conflict awareness on them."""


rule extract_activations:
    """Collect last-token residual streams of conflict, consistent and single-evidence prompts."""
    input:
        examples=expand("results/conflict/examples/{conflict}.jsonl", conflict=CONFLICTS),
        prompts=conflict_prompts,
        model=target_manifest,
    output:
        pairs="results/conflict/activations/{model}/pairs.safetensors",
        single="results/conflict/activations/{model}/single.safetensors",
    log:
        "logs/conflict/activations/{model}.log",
    benchmark:
        "benchmarks/conflict/activations/{model}.tsv"
    conda:
        "../envs/torch.yaml"
    threads: 4
    params:
        dtype=target_dtype,
        prompts=PROMPTS,
        batch_size=CONFIG.conflict.probing.batch_size,
        code=code("extract_activations"),
    script:
        "../workflow/scripts/extract_activations.py"


rule train_probes:
    """Train a probe per layer and conflict type to tell conflict from consistent prompts."""
    input:
        examples=expand("results/conflict/examples/{conflict}.jsonl", conflict=CONFLICTS),
        pairs="results/conflict/activations/{model}/pairs.safetensors",
    output:
        probes="results/conflict/probes/{model}.parquet",
    log:
        "logs/conflict/probes/{model}.log",
    benchmark:
        "benchmarks/conflict/probes/{model}.tsv"
    conda:
        "../envs/core.yaml"
    params:
        settings=plain(CONFIG.conflict.probing),
        seed=seed_of("train_probes"),
        code=code("train_probes"),
    script:
        "../workflow/scripts/train_probes.py"
