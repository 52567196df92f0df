"""Tables that are made in shards, a job each."""


rule gather_shards:
    """Put the shards of one table together, in the order of the examples."""
    input:
        shards=shards_of_table,
    output:
        table="results/{table}/{run}.{format}",
    log:
        "logs/{table}/{run}.{format}.log",
    benchmark:
        "benchmarks/{table}/{run}.{format}.tsv"
    wildcard_constraints:
        table="overlap/(answers|ablations|token_distances)|conflict/(responses|ablations)",
        format="parquet|jsonl",
    conda:
        "../envs/core.yaml"
    params:
        code=code("gather_shards"),
    script:
        "../workflow/scripts/gather_shards.py"
