"""Corpora → passages → candidates → contexts whose segments have a known provenance."""


rule load_questions:
    """Read and check a question set, and take the sample that is asked for."""
    input:
        questions=question_files,
    output:
        questions="results/overlap/questions/{dataset}.jsonl",
    log:
        "logs/overlap/questions/{dataset}.log",
    benchmark:
        "benchmarks/overlap/questions/{dataset}.tsv"
    # Cheap checks of the raw input go first: a fault must show before costly work starts.
    priority: 100
    conda:
        "../envs/core.yaml"
    params:
        dataset=question_entry,
        code=question_code,
    script:
        "../workflow/scripts/load_questions.py"


rule chunk_corpus:
    """Cut a corpus into passages of a fixed number of tokens."""
    input:
        corpus=text_file("overlap.corpora.{corpus}"),
        tokenizer=manifest(CONFIG.overlap.chunking.tokenizer),
    output:
        passages="results/overlap/passages/{corpus}.jsonl",
    log:
        "logs/overlap/passages/{corpus}.log",
    benchmark:
        "benchmarks/overlap/passages/{corpus}.tsv"
    priority: 100
    conda:
        "../envs/torch.yaml"
    params:
        settings=plain(CONFIG.overlap.chunking),
        code=code("chunk_corpus"),
    script:
        "../workflow/scripts/chunk_corpus.py"


rule embed_passages:
    """Embed the passages of a corpus as unit vectors."""
    input:
        passages="results/overlap/passages/{corpus}.jsonl",
        model=manifest(CONFIG.overlap.embedding.model),
    output:
        embeddings="results/overlap/embeddings/{corpus}.safetensors",
    log:
        "logs/overlap/embeddings/{corpus}.log",
    benchmark:
        "benchmarks/overlap/embeddings/{corpus}.tsv"
    conda:
        "../envs/torch.yaml"
    threads: 4
    params:
        settings=plain(CONFIG.overlap.embedding),
        code=code("embed_passages"),
    script:
        "../workflow/scripts/embed_passages.py"


rule build_index:
    """Build the FAISS index of a corpus."""
    input:
        embeddings="results/overlap/embeddings/{corpus}.safetensors",
    output:
        index="results/overlap/index/{corpus}.faiss",
    log:
        "logs/overlap/index/{corpus}.log",
    benchmark:
        "benchmarks/overlap/index/{corpus}.tsv"
    conda:
        "../envs/torch.yaml"
    params:
        code=code("build_index"),
    script:
        "../workflow/scripts/build_index.py"


rule retrieve_candidates:
    """Find the passages nearest to each question with its gold answer."""
    input:
        questions="results/overlap/questions/{dataset}.jsonl",
        passages="results/overlap/passages/{corpus}.jsonl",
        index="results/overlap/index/{corpus}.faiss",
        model=manifest(CONFIG.overlap.embedding.model),
    output:
        candidates="results/overlap/candidates/{dataset}/{corpus}.jsonl",
    log:
        "logs/overlap/candidates/{dataset}/{corpus}.log",
    benchmark:
        "benchmarks/overlap/candidates/{dataset}/{corpus}.tsv"
    conda:
        "../envs/torch.yaml"
    threads: 4
    params:
        embedding=plain(CONFIG.overlap.embedding),
        retrieval=plain(CONFIG.overlap.retrieval),
        code=code("retrieve_candidates"),
    script:
        "../workflow/scripts/retrieve_candidates.py"


rule rerank_candidates:
    """Let the judge score each candidate from 0 to 10."""
    input:
        questions="results/overlap/questions/{dataset}.jsonl",
        candidates="results/overlap/candidates/{dataset}/{corpus}.jsonl",
        prompt=text_file("overlap.reranking.prompt"),
        judge=manifest(CONFIG.overlap.reranking.judge),
    output:
        candidates="results/overlap/reranked/{dataset}/{corpus}.jsonl",
    log:
        "logs/overlap/reranked/{dataset}/{corpus}.log",
    benchmark:
        "benchmarks/overlap/reranked/{dataset}/{corpus}.tsv"
    conda:
        "../envs/torch.yaml"
    threads: 4
    params:
        judge=CONFIG.overlap.reranking.judge,
        model=plain(CONFIG.models[CONFIG.overlap.reranking.judge], "traffic"),
        code=code("rerank_candidates"),
    script:
        "../workflow/scripts/rerank_candidates.py"


rule assemble_contexts:
    """Select the best segments of both corpora and shuffle them."""
    input:
        questions="results/overlap/questions/{dataset}.jsonl",
        retain="results/overlap/reranked/{dataset}/retain.jsonl",
        forget="results/overlap/reranked/{dataset}/forget.jsonl",
    output:
        examples="results/overlap/contexts/{dataset}.jsonl",
    log:
        "logs/overlap/contexts/{dataset}.log",
    benchmark:
        "benchmarks/overlap/contexts/{dataset}.tsv"
    conda:
        "../envs/core.yaml"
    params:
        num_iw=CONFIG.overlap.reranking.num_iw,
        num_icl=CONFIG.overlap.reranking.num_icl,
        seed=selection_seed,
        code=code("assemble_contexts"),
    script:
        "../workflow/scripts/assemble_contexts.py"


rule smooth_contexts:
    """Let the generator join the segments into one document, or keep them plain."""
    input:
        examples="results/overlap/contexts/{dataset}.jsonl",
        prompt=text_file("overlap.smoothing.prompt"),
        generator=manifest(CONFIG.overlap.smoothing.generator),
    output:
        examples="results/overlap/examples/{dataset}.jsonl",
    log:
        "logs/overlap/examples/{dataset}.log",
    benchmark:
        "benchmarks/overlap/examples/{dataset}.tsv"
    conda:
        "../envs/torch.yaml"
    threads: 4
    params:
        settings=plain(CONFIG.overlap.smoothing),
        model=plain(CONFIG.models[CONFIG.overlap.smoothing.generator], "traffic"),
        code=code("smooth_contexts"),
    script:
        "../workflow/scripts/smooth_contexts.py"
