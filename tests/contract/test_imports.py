import os
import subprocess
import sys

import pytest
from source_tree import ROOT, imports, library, reached

LIBRARY = library()

# Each module or package may import of ours, besides itself, what is named and nothing else.
BOTTOM = {
    "ctxaudit.errors": set(),
    "ctxaudit.interface": set(),
    "ctxaudit.seeds": set(),
    "ctxaudit.logs": {"ctxaudit.errors"},
    "ctxaudit.plugins": {"ctxaudit.errors"},
    "ctxaudit.config": {"ctxaudit.errors", "ctxaudit.plugins"},
    "ctxaudit.artifacts": {"ctxaudit.errors", "ctxaudit.interface"},
    "ctxaudit.prompts": {"ctxaudit.errors", "ctxaudit.interface"},
}

# Computation from arrays and tables: it never reaches a model.
PURE = (
    "ctxaudit.ablation.choices",
    "ctxaudit.ablation.cost",
    "ctxaudit.ablation.masks",
    "ctxaudit.ablation.planner",
    "ctxaudit.accuracy",
    "ctxaudit.attribution",
    "ctxaudit.balance",
    "ctxaudit.conflict",
    "ctxaudit.corpora.segments",
    "ctxaudit.corpora.selection",
    "ctxaudit.datasets",
    "ctxaudit.metrics",
    "ctxaudit.planning.bill",
    "ctxaudit.planning.bill_text",
    "ctxaudit.planning.plan",
    "ctxaudit.planning.stand_ins",
    "ctxaudit.probing.by_type",
    "ctxaudit.probing.probes",
    "ctxaudit.provenance",
    "ctxaudit.recall",
    "ctxaudit.report",
    "ctxaudit.shapley",
    "ctxaudit.steering.directions",
)
MODEL_LIBRARIES = {"faiss", "openai", "peft", "sentence_transformers", "torch", "transformers"}
HEAVY = ("matplotlib", "sklearn", *sorted(MODEL_LIBRARIES))

IMPORT_EVERY_PLUGIN = f"""
import sys
from ctxaudit import plugins
kinds = ("attribution", "conflict", "datasets", "metrics", "report.tables", "report.figures")
for kind in kinds:
    for name in plugins.available(kind):
        plugins.load(kind, name)
        print(*(f"{{kind}}.{{name}}:{{heavy}}" for heavy in {HEAVY} if heavy in sys.modules))
"""


def within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def of_ours(module: str) -> set[str]:
    return {name for name in imports(LIBRARY[module]) if name in LIBRARY} - {"ctxaudit"}


@pytest.mark.parametrize("package", BOTTOM)
def test_the_bottom_imports_only_what_is_below_it(package: str):
    modules = [module for module in LIBRARY if within(module, package)]
    assert modules
    outside = {name for module in modules for name in of_ours(module) if not within(name, package)}
    assert outside <= BOTTOM[package]


@pytest.mark.parametrize("package", PURE)
def test_pure_computation_never_reaches_a_model(package: str):
    modules = [module for module in LIBRARY if within(module, package)]
    assert modules
    for module in modules:
        tops = {name.split(".", maxsplit=1)[0] for name in reached(LIBRARY[module])}
        assert not tops & MODEL_LIBRARIES, module


@pytest.mark.parametrize("module", LIBRARY)
def test_no_module_imports_the_workflow_or_reaches_itself(module: str):
    below = reached(LIBRARY[module])
    assert not {name for name in below if within(name, "workflow") or within(name, "snakemake")}
    assert module == "ctxaudit" or module not in below


def test_no_module_is_a_drawer_for_everything():
    names = {name.rpartition(".")[2] for name in LIBRARY}
    assert not names & {"utils", "util", "helpers", "common", "misc", "tools"}


def test_plugins_import_without_a_heavy_library():
    """The Snakefile imports them all, on every start."""
    ran = subprocess.run(
        [sys.executable, "-c", IMPORT_EVERY_PLUGIN],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert not ran.stdout.split()
