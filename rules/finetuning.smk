"""Put the retain corpus into the weights, and show that it got there."""


rule finetune_model:
    """Fine-tune a target model on the retain corpus with LoRA."""
    input:
        corpus=text_file("overlap.corpora.retain"),
        model=target_manifest,
    output:
        adapter="results/overlap/adapters/{model}/manifest.json",
    log:
        "logs/overlap/adapters/{model}.log",
    benchmark:
        "benchmarks/overlap/adapters/{model}.tsv"
    conda:
        "../envs/torch.yaml"
    threads: 4
    params:
        settings=plain(CONFIG.overlap.finetuning, "min_gain", "modules"),
        modules=adapted_modules,
        seed=finetuning_seed,
        code=code("finetune_model"),
    script:
        "../workflow/scripts/finetune_model.py"


rule measure_recall:
    """Answer every question with no context and with the full one."""
    input:
        examples="results/overlap/examples/{dataset}.jsonl",
        prompt=text_file("overlap.answering.prompt"),
        model=target_manifest,
        adapter=target_adapter,
    output:
        recall="results/overlap/recall/{dataset}/{model}/{variant}.parquet",
    log:
        "logs/overlap/recall/{dataset}/{model}/{variant}.log",
    benchmark:
        "benchmarks/overlap/recall/{dataset}/{model}/{variant}.tsv"
    conda:
        "../envs/torch.yaml"
    threads: 4
    params:
        dtype=target_dtype,
        scoring=CONFIG.overlap.answering.scoring,
        batch_tokens=CONFIG.overlap.ablation.batch_tokens,
        code=code("measure_recall"),
    script:
        "../workflow/scripts/measure_recall.py"


rule check_recall:
    """Stop if the fine-tuning taught nothing; nothing after it would mean anything."""
    input:
        base="results/overlap/recall/{dataset}/{model}/base.parquet",
        tuned="results/overlap/recall/{dataset}/{model}/tuned.parquet",
    output:
        recall="results/overlap/recall/{dataset}/{model}.parquet",
    log:
        "logs/overlap/recall/{dataset}/{model}.log",
    benchmark:
        "benchmarks/overlap/recall/{dataset}/{model}.tsv"
    conda:
        "../envs/core.yaml"
    params:
        min_gain=CONFIG.overlap.finetuning.min_gain,
        code=code("check_recall"),
    script:
        "../workflow/scripts/check_recall.py"
