"""What rules ask of their wildcards: inputs, settings, seeds and code digests, stage by stage."""

# several stages


def target_manifest(wildcards):
    """Manifest of the model that a wildcard names."""
    return manifest(wildcards.model)


def target_dtype(wildcards):
    """Precision of the model that a wildcard names."""
    return dtype(wildcards.model)


def target_adapter(wildcards):
    """Manifest of the LoRA adapter, for the tuned variant only."""
    adapter = f"results/overlap/adapters/{wildcards.model}/manifest.json"
    return adapter if wildcards.variant == "tuned" else []


# sharding.smk


def shards_of_table(wildcards):
    """The shards of a table in the order of the examples."""
    study = {"overlap": CONFIG.overlap, "conflict": CONFIG.conflict}[wildcards.table.split("/")[0]]
    folder = f"results/shards/{wildcards.table}/{wildcards.run}"
    return [f"{folder}/{name}.{wildcards.format}" for name in sharding.names(study.num_shards)]


# models.smk


def model_entry(wildcards):
    """The configuration of the model that a wildcard names."""
    return plain(CONFIG.models[wildcards.model])


# corpora.smk


def question_files(wildcards):
    """Raw files of a question set."""
    key = f"overlap.datasets.{wildcards.dataset}.path"
    return or_stop(inputs.find_raw_files, value_of(key), key=key)


def question_entry(wildcards):
    """The configuration of a question set."""
    return plain(CONFIG.overlap.datasets[wildcards.dataset])


def question_code(wildcards):
    """Code digest with the dataset's own loader."""
    loader = CONFIG.overlap.datasets[wildcards.dataset].loader
    return code("load_questions", f"ctxaudit.datasets.{loader}")


def selection_seed(wildcards):
    """Seed of the shuffle of a dataset's segments."""
    return seed_of("assemble_contexts", wildcards.dataset)


# finetuning.smk


def adapted_modules(wildcards):
    """Modules that get a LoRA adapter in one model."""
    return CONFIG.overlap.finetuning.modules[wildcards.model]


def finetuning_seed(wildcards):
    """Seed of one model's fine-tuning."""
    return seed_of("finetune_model", wildcards.model)


# attribution.smk


def all_subsets_are_scored():
    """Whether the examples have so few sources that no plan is needed."""
    reranking = CONFIG.overlap.reranking
    return reranking.num_iw + reranking.num_icl <= CONFIG.overlap.ablation.exact_limit


def methods_that_plan():
    """Methods whose settings decide which masks are scored."""
    return {} if all_subsets_are_scored() else CONFIG.overlap.methods


def metrics_that_plan():
    """Metrics whose settings decide which masks are scored."""
    return {} if all_subsets_are_scored() else CONFIG.overlap.metrics


def evidence(wildcards):
    """The table that a method reads."""
    kind = plugins.load("attribution", wildcards.method).EVIDENCE
    return (
        f"results/overlap/{kind}/{wildcards.dataset}/{wildcards.model}/{wildcards.variant}.parquet"
    )


def method_settings(wildcards):
    """Settings of the method that a wildcard names."""
    return CONFIG.overlap.methods[wildcards.method]


def method_code(wildcards):
    """Code digest with the method's own module."""
    return code("attribute_context", f"ctxaudit.attribution.{wildcards.method}")


def metric_settings(wildcards):
    """Settings of the metric that a wildcard names."""
    return CONFIG.overlap.metrics[wildcards.metric]


def metric_code(wildcards):
    """Code digest with the metric's own module."""
    return code("evaluate_attribution", f"ctxaudit.metrics.{wildcards.metric}")


def mask_seed(wildcards):
    """Seed of the masks of a dataset; the same for all models, so that they share them."""
    return seed_of("masks", wildcards.dataset)


def metric_seed(wildcards):
    """Seed of the tie draws; the same for all metrics, so that APS is made of the BCS shown."""
    return seed_of("evaluate_attribution", wildcards.dataset)


# conflict.smk


def instance_folder(wildcards):
    """Folder with the raw instances of a conflict type."""
    return CONFIG.conflict.instances[wildcards.conflict]


def engine(wildcards):
    """Name of the model that writes the unsteered responses of a target model: itself, or an
    endpoint that serves it."""
    return CONFIG.conflict.generation.engines.get(wildcards.model, wildcards.model)


def engine_manifest(wildcards):
    """Its manifest, or nothing for an endpoint."""
    return manifest(engine(wildcards))


def engine_entry(wildcards):
    """Its configuration; how an endpoint is called cannot change a reply."""
    entry = CONFIG.models[engine(wildcards)]
    return plain(entry, "traffic")


def conflict_prompts(wildcards):
    """Prompt files of both task families, with all the evidence and with a single piece."""
    return [text_file(f"conflict.prompts.{name}")(wildcards) for name in PROMPTS]


def instance_code(wildcards):
    """Code digest with the conflict type's own module."""
    return code("build_conflicts", f"ctxaudit.conflict.{wildcards.conflict}")


# report.smk


def of_study(kind, study):
    """Names of the tables or figures of one study."""
    names = plugins.available(kind)
    return [name for name in names if plugins.load(kind, name).STUDY == study]


def sources_of(kind, name):
    """Artifacts that a table or figure reads, by their kind."""
    return {source: REPORT_SOURCES[source] for source in plugins.load(kind, name).READS}


def table_sources(wildcards):
    """Artifacts that a table reads."""
    return sources_of("report.tables", wildcards.table)


def figure_sources(wildcards):
    """Artifacts that a figure reads."""
    return sources_of("report.figures", wildcards.figure)


def table_code(wildcards):
    """Code digest with the table's own module."""
    return code("build_table", f"ctxaudit.report.tables.{wildcards.table}")


def figure_code(wildcards):
    """Code digest with the figure's own module."""
    return code("plot_figure", f"ctxaudit.report.figures.{wildcards.figure}")


def study_name(wildcards):
    """Category in Snakemake's report: the study that a table or figure belongs to."""
    name = wildcards.get("table") or wildcards.get("figure")
    return "Conflict" if name.startswith("conflict") else "Overlap"


def caption(wildcards):
    """Text under a table or figure in Snakemake's report."""
    name = wildcards.get("table") or wildcards.get("figure")
    return (ROOT / f"workflow/report/{name}.rst").read_text(encoding="utf-8")
