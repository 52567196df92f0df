"""Models → folders of safetensors with a SHA-256 manifest, which all later stages depend on."""

CONVERTED = [name for name, model in CONFIG.models.items() if model.kind == "gguf"]
COPIED = [
    name for name, model in CONFIG.models.items() if model.kind in {"package", "folder", "hub"}
]


rule convert_model:
    """Dequantise a GGUF file into safetensors, once."""
    output:
        manifest="results/models/{model}/manifest.json",
    log:
        "logs/models/convert_{model}.log",
    benchmark:
        "benchmarks/models/convert_{model}.tsv"
    wildcard_constraints:
        model="|".join(CONVERTED) or "(?!)",
    # All later checks of a model rest on its folder.
    priority: 100
    conda:
        "../envs/torch.yaml"
    threads: 4
    params:
        model=model_entry,
        code=code("convert_model"),
    script:
        "../workflow/scripts/convert_model.py"


rule snapshot_model:
    """Copy or fetch a model folder at its pinned revision."""
    output:
        manifest="results/models/{model}/manifest.json",
    log:
        "logs/models/snapshot_{model}.log",
    benchmark:
        "benchmarks/models/snapshot_{model}.tsv"
    wildcard_constraints:
        model="|".join(COPIED) or "(?!)",
    # All later checks of a model rest on its folder.
    priority: 100
    conda:
        "../envs/torch.yaml"
    params:
        model=model_entry,
        code=code("snapshot_model"),
    script:
        "../workflow/scripts/snapshot_model.py"
