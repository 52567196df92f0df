"""Rules as they stand in the .smk files, and what modules import, read without running them."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]

# Scripts find these by a wildcard or a setting, so that no import names them.
LOADED_BY_NAME = {
    "attribute_context": "attribution",
    "build_conflicts": "conflict",
    "build_table": "report/tables",
    "evaluate_attribution": "metrics",
    "load_questions": "datasets",
    "plan": "attribution",
    "plot_figure": "report/figures",
    "score_ablations": "attribution",
    "score_answers": "attribution",
}


@dataclass(frozen=True)
class Rule:
    """A rule's name, text and directives."""

    name: str
    file: Path
    body: str
    directives: dict[str, str]

    @property
    def script(self) -> Path:
        return self._path("script")

    @property
    def environment(self) -> Path:
        return self._path("conda")

    @property
    def plugins(self) -> list[str]:
        folder = ROOT / "ctxaudit" / LOADED_BY_NAME.get(self.name, "none")
        return [module_of(path) for path in folder.glob("*.py")]

    def _path(self, directive: str) -> Path:
        quoted = self.directives[directive].split('"')[1]
        return (self.file.parent / quoted).resolve()


@cache
def rules() -> dict[str, Rule]:
    """Every rule of the Snakefile and the rule files."""
    found = {}
    for file in [ROOT / "Snakefile", *sorted((ROOT / "rules").glob("*.smk"))]:
        text = file.read_text(encoding="utf-8")
        for name, body in re.findall(r"^rule (\w+):\n((?:(?: .*)?\n)+)", text, flags=re.M):
            parts = re.split(r"^    (\w+):", body, flags=re.M)
            directives = dict(zip(parts[1::2], parts[2::2], strict=True))
            found[name] = Rule(name, file, body, directives)
    return found


def module_of(path: Path) -> str:
    """Dotted name of a module's file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def path_of(module: str) -> Path | None:
    """File of a module of ours, if there is one of that name."""
    stem = ROOT.joinpath(*module.split("."))
    found = (path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.is_file())
    return next(found, None)


def library() -> dict[str, Path]:
    """Every module of the library."""
    return {module_of(path): path for path in sorted((ROOT / "ctxaudit").rglob("*.py"))}


@cache
def imports(path: Path) -> frozenset[str]:
    """Modules that a file imports when it runs, also inside functions."""
    return frozenset(_imports(ast.parse(path.read_text(encoding="utf-8"))))


def reached(path: Path, *more: str) -> set[str]:
    """All modules that a file and `more` import, through ours down to the first of others."""
    found: set[str] = set()
    waiting = [*imports(path), *more]
    while waiting:
        module = waiting.pop()
        ours = path_of(module)
        if module not in found:
            found.add(module)
            waiting.extend(imports(ours) if ours else ())
    return found


def _imports(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
        return
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    if isinstance(node, ast.ImportFrom) and node.module:
        yield node.module
        names = (f"{node.module}.{alias.name}" for alias in node.names)
        yield from (name for name in names if path_of(name))
    for child in ast.iter_child_nodes(node):
        yield from _imports(child)
