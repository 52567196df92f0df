"""The set function v, the methods that read it, and the metrics that judge them."""


rule score_answers:
    """Score every option of every question under each mask."""
    input:
        examples="results/overlap/examples/{dataset}.jsonl",
        prompt=text_file("overlap.answering.prompt"),
        model=target_manifest,
        adapter=target_adapter,
        checked="results/overlap/recall/{dataset}/{model}.parquet",
    output:
        answers="results/shards/overlap/answers/{dataset}/{model}/{variant}/{shard}.parquet",
    log:
        "logs/shards/overlap/answers/{dataset}/{model}/{variant}/{shard}.log",
    benchmark:
        "benchmarks/shards/overlap/answers/{dataset}/{model}/{variant}/{shard}.tsv"
    conda:
        "../envs/torch.yaml"
    threads: 4
    params:
        dtype=target_dtype,
        scoring=CONFIG.overlap.answering.scoring,
        ablation=plain(CONFIG.overlap.ablation),
        methods=methods_that_plan(),
        metrics=metrics_that_plan(),
        seed=mask_seed,
        code=code("score_answers"),
    script:
        "../workflow/scripts/score_answers.py"


rule choose_responses:
    """Take the best option under the full context as the model's own response."""
    input:
        examples="results/overlap/examples/{dataset}.jsonl",
        answers="results/overlap/answers/{dataset}/{model}/{variant}.parquet",
    output:
        responses="results/overlap/responses/{dataset}/{model}/{variant}.jsonl",
    log:
        "logs/overlap/responses/{dataset}/{model}/{variant}.log",
    benchmark:
        "benchmarks/overlap/responses/{dataset}/{model}/{variant}.tsv"
    conda:
        "../envs/core.yaml"
    params:
        code=code("choose_responses"),
    script:
        "../workflow/scripts/choose_responses.py"


rule score_ablations:
    """Assemble v(S) of every response; the model is asked only for what the store lacks."""
    input:
        examples="results/overlap/examples/{dataset}.jsonl",
        responses="results/overlap/responses/{dataset}/{model}/{variant}.jsonl",
        prompt=text_file("overlap.answering.prompt"),
        model=target_manifest,
        adapter=target_adapter,
    output:
        ablations="results/shards/overlap/ablations/{dataset}/{model}/{variant}/{shard}.parquet",
    log:
        "logs/shards/overlap/ablations/{dataset}/{model}/{variant}/{shard}.log",
    benchmark:
        "benchmarks/shards/overlap/ablations/{dataset}/{model}/{variant}/{shard}.tsv"
    conda:
        "../envs/torch.yaml"
    threads: 4
    params:
        dtype=target_dtype,
        scoring=CONFIG.overlap.answering.scoring,
        ablation=plain(CONFIG.overlap.ablation),
        methods=methods_that_plan(),
        metrics=metrics_that_plan(),
        seed=mask_seed,
        code=code("score_ablations"),
    script:
        "../workflow/scripts/score_ablations.py"


rule measure_token_distances:
    """Measure final-layer distances between response and context tokens."""
    input:
        examples="results/overlap/examples/{dataset}.jsonl",
        responses="results/overlap/responses/{dataset}/{model}/{variant}.jsonl",
        prompt=text_file("overlap.answering.prompt"),
        model=target_manifest,
        adapter=target_adapter,
    output:
        distances="results/shards/overlap/token_distances/{dataset}/{model}/{variant}/{shard}.parquet",
    log:
        "logs/shards/overlap/token_distances/{dataset}/{model}/{variant}/{shard}.log",
    benchmark:
        "benchmarks/shards/overlap/token_distances/{dataset}/{model}/{variant}/{shard}.tsv"
    conda:
        "../envs/torch.yaml"
    threads: 4
    params:
        dtype=target_dtype,
        scoring=CONFIG.overlap.answering.scoring,
        batch_tokens=CONFIG.overlap.ablation.batch_tokens,
        code=code("measure_token_distances"),
    script:
        "../workflow/scripts/measure_token_distances.py"


rule attribute_context:
    """Score every source of every example with one method, from its table alone."""
    input:
        evidence=evidence,
        answers="results/overlap/answers/{dataset}/{model}/{variant}.parquet",
        responses="results/overlap/responses/{dataset}/{model}/{variant}.jsonl",
        examples="results/overlap/examples/{dataset}.jsonl",
    output:
        attributions="results/overlap/attributions/{dataset}/{model}/{variant}/{method}.parquet",
    log:
        "logs/overlap/attributions/{dataset}/{model}/{variant}/{method}.log",
    benchmark:
        "benchmarks/overlap/attributions/{dataset}/{model}/{variant}/{method}.tsv"
    conda:
        "../envs/core.yaml"
    params:
        settings=method_settings,
        seed=mask_seed,
        code=method_code,
    script:
        "../workflow/scripts/attribute_context.py"


rule collect_scores:
    """Put the scores of all methods into one long table, one row per source."""
    input:
        examples="results/overlap/examples/{dataset}.jsonl",
        attributions=expand(
            "results/overlap/attributions/{{dataset}}/{{model}}/{variant}/{method}.parquet",
            variant=VARIANTS,
            method=METHODS,
        ),
    output:
        scores="results/overlap/scores/{dataset}/{model}.parquet",
    log:
        "logs/overlap/scores/{dataset}/{model}.log",
    benchmark:
        "benchmarks/overlap/scores/{dataset}/{model}.tsv"
    conda:
        "../envs/core.yaml"
    params:
        runs=[(variant, method) for variant in VARIANTS for method in METHODS],
        code=code("collect_scores"),
    script:
        "../workflow/scripts/collect_scores.py"


rule evaluate_attribution:
    """Judge all methods on one dataset and target model with one metric."""
    input:
        examples="results/overlap/examples/{dataset}.jsonl",
        ablations=expand(
            "results/overlap/ablations/{{dataset}}/{{model}}/{variant}.parquet", variant=VARIANTS
        ),
        answers=expand(
            "results/overlap/answers/{{dataset}}/{{model}}/{variant}.parquet", variant=VARIANTS
        ),
        attributions=expand(
            "results/overlap/attributions/{{dataset}}/{{model}}/{variant}/{method}.parquet",
            variant=VARIANTS,
            method=METHODS,
        ),
    output:
        metrics="results/overlap/metrics/{dataset}/{model}/{metric}.parquet",
    log:
        "logs/overlap/metrics/{dataset}/{model}/{metric}.log",
    benchmark:
        "benchmarks/overlap/metrics/{dataset}/{model}/{metric}.tsv"
    conda:
        "../envs/core.yaml"
    params:
        settings=metric_settings,
        variants=VARIANTS,
        runs=[(variant, method) for variant in VARIANTS for method in METHODS],
        seed=metric_seed,
        code=metric_code,
    script:
        "../workflow/scripts/evaluate_attribution.py"
