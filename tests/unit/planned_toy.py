"""A project of a few invented sizes, none of whose files exist."""

from pathlib import Path
from typing import Any

from ctxaudit.config.root import Config, validate

PROMPT = """
chat: false
with_sources: "{sources}{query}"
without_sources: "{query}"
separator: ""
"""

TASK = """
system: "12345678"
user: "1234"
examples: [{values: {passage: "12345678"}, reply: "1234"}]
"""


def toy(folder: Path, **changes: Any) -> Config:
    prompt = folder / "prompt.yaml"
    prompt.write_text(PROMPT, encoding="utf-8")
    task = folder / "task.yaml"
    task.write_text(TASK, encoding="utf-8")
    names = ("reasoning", "summarization", "single_reasoning", "single_summarization")
    absent = str(folder / "absent")
    raw = {
        "seed": 1,
        "models": {
            "local": {"kind": "folder", "path": "x"},
            "remote": {"kind": "endpoint", "model": "m", "allow_alias": True},
        },
        "overlap": {
            "datasets": {"toy": {"loader": "wmdp", "path": absent}},
            "corpora": {"retain": absent, "forget": absent},
            "target_models": ["local"],
            "chunking": {"tokenizer": "local", "num_tokens": 40, "overlap": 10},
            "embedding": {"model": "local"},
            "retrieval": {"num_candidates": 2},
            "reranking": {"judge": "local", "prompt": str(task), "num_iw": 1, "num_icl": 1},
            "smoothing": {"generator": "local", "prompt": str(task), "token_factor": 1.5},
            "finetuning": {"modules": {"local": ["q"]}, "num_epochs": 2, "max_tokens": 50},
            "answering": {"prompt": str(prompt)},
            "ablation": {"exact_limit": 8},
            "methods": {"attribot": {}, "token_shapley": {}},
            "metrics": {"ssp": {}},
        },
        "conflict": {
            "instances": {"temporal": absent, "ambiguity": absent},
            "target_models": ["local"],
            "prompts": dict.fromkeys(names, str(prompt)),
            "generation": {"num_per_type": 5, "max_new_tokens": 7},
            "balance": {"scorer": "local", "prompt": str(prompt)},
            "probing": {},
            "steering": {"schedules": ["first_generated", "all_tokens"]},
        },
        "planning": {
            "tokens_per_second": {"local": 10},
            "generated_per_second": {"local": 2},
            "corpora": {
                "retain": {"num_documents": 2, "num_characters": 800},
                "forget": {"num_documents": 1, "num_characters": 160},
            },
            "num_examples": {"toy": 5, "temporal": 10, "ambiguity": 10},
            "query_tokens": 10,
            "choice_tokens": 4,
            "num_pieces": 2,
            "piece_tokens": 6,
            "response_tokens": 3,
        },
    }
    for key, value in changes.items():
        *path, last = key.split("__")
        section: Any = raw
        for part in path:
            section = section[part]
        section[last] = value
    return validate(raw, source="toy")
