"""Tables and figures, from artifacts alone."""

REPORT_SOURCES = {
    "metrics": expand(
        "results/overlap/metrics/{dataset}/{model}/{metric}.parquet",
        dataset=DATASETS,
        model=CONFIG.overlap.target_models,
        metric=METRICS,
    ),
    "recall": expand(
        "results/overlap/recall/{dataset}/{model}.parquet",
        dataset=DATASETS,
        model=CONFIG.overlap.target_models,
    ),
    "scores": expand(
        "results/overlap/scores/{dataset}/{model}.parquet",
        dataset=DATASETS,
        model=CONFIG.overlap.target_models,
    ),
    "examples": expand("results/overlap/examples/{dataset}.jsonl", dataset=DATASETS),
    "candidates": expand(
        "results/overlap/reranked/{dataset}/{corpus}.jsonl",
        dataset=DATASETS,
        corpus=["retain", "forget"],
    ),
    "conflict_accuracy": expand(
        "results/conflict/accuracy/{model}/{steering}.parquet",
        model=CONFIG.conflict.target_models,
        steering=["none", *SCHEDULES],
    ),
    "balance": expand(
        "results/conflict/balance/{model}/{steering}.parquet",
        model=CONFIG.conflict.target_models,
        steering=["none", *SCHEDULES],
    ),
    "probes": expand(
        "results/conflict/probes/{model}.parquet", model=CONFIG.conflict.target_models
    ),
}


rule build_table:
    """Build one table and write it as CSV, Markdown and LaTeX."""
    input:
        unpack(table_sources),
    output:
        csv="results/tables/{table}.csv",
        markdown=report(
            "results/tables/{table}.md",
            caption="../workflow/report/caption.rst",
            category=study_name,
            subcategory="Tables",
            labels={"table": "{table}"},
        ),
        latex="results/tables/{table}.tex",
    log:
        "logs/tables/{table}.log",
    benchmark:
        "benchmarks/tables/{table}.tsv"
    wildcard_constraints:
        table="|".join(plugins.available("report.tables")),
    conda:
        "../envs/core.yaml"
    params:
        caption=caption,
        code=table_code,
    script:
        "../workflow/scripts/build_table.py"


rule plot_figure:
    """Draw one figure and write it as PDF and PNG."""
    input:
        unpack(figure_sources),
    output:
        pdf="results/figures/{figure}.pdf",
        png=report(
            "results/figures/{figure}.png",
            caption="../workflow/report/caption.rst",
            category=study_name,
            subcategory="Figures",
            labels={"figure": "{figure}"},
        ),
    log:
        "logs/figures/{figure}.log",
    benchmark:
        "benchmarks/figures/{figure}.tsv"
    wildcard_constraints:
        figure="|".join(plugins.available("report.figures")),
    conda:
        "../envs/core.yaml"
    params:
        caption=caption,
        code=figure_code,
    script:
        "../workflow/scripts/plot_figure.py"


rule overlap:
    """Every table and figure of the overlap study."""
    input:
        expand(
            "results/overlap/preflight/{dataset}/{model}.json",
            dataset=DATASETS,
            model=CONFIG.overlap.target_models,
        ),
        expand("results/tables/{table}.csv", table=of_study("report.tables", "overlap")),
        expand("results/figures/{figure}.png", figure=of_study("report.figures", "overlap")),


rule conflict:
    """Every table and figure of the conflict study."""
    input:
        expand("results/conflict/preflight/{model}.json", model=CONFIG.conflict.target_models),
        expand("results/tables/{table}.csv", table=of_study("report.tables", "conflict")),
        expand("results/figures/{figure}.png", figure=of_study("report.figures", "conflict")),
