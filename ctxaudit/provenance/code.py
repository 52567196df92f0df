"""Digest of the code behind a rule: its script and every module of ours that it imports.

Snakemake sees a script's time stamp, not what it imports. The digest is over syntax trees without
comments, docstrings and layout, so only a change of meaning re-runs a rule. Fields that are empty
are left out of the dump, since newer Python versions add such fields to old nodes.
"""

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

_PACKAGE = "ctxaudit"

# Modules and packages whose content cannot change a result: what a rule reads of the
# configuration is in its params, and logs and errors only tell.
_WITHOUT_EFFECT = ("ctxaudit.config", "ctxaudit.errors", "ctxaudit.logs")


def code_digest(script: Path, *, root: Path, plugins: Iterable[str] = ()) -> str:
    """SHA-256 over a script, the plugins it loads by name, and all that they import of ours.

    Args:
        script: The rule's script.
        root: Folder that holds the package.
        plugins: Dotted names of modules that the script loads at run time.
    """
    modules: set[str] = set()
    waiting = [*_imports(script, root), *plugins]
    while waiting:
        module = waiting.pop()
        if module not in modules and not _is_without_effect(module):
            modules.add(module)
            waiting.extend(_imports(_path(module, root), root))
    files = [script, *(_path(module, root) for module in sorted(modules))]
    return hashlib.sha256("\n".join(map(_file_digest, files)).encode()).hexdigest()


@cache
def _imports(file: Path, root: Path) -> tuple[str, ...]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return tuple(sorted(set(_imported_modules(tree, root))))


def _imported_modules(tree: ast.AST, root: Path) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if _is_ours(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.module and _is_ours(node.module):
            yield node.module
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name for name in names if _exists(name, root))


def _is_ours(module: str) -> bool:
    return module.split(".", maxsplit=1)[0] == _PACKAGE


def _is_without_effect(module: str) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in _WITHOUT_EFFECT)


def _exists(module: str, root: Path) -> bool:
    stem = root.joinpath(*module.split("."))
    return stem.with_suffix(".py").is_file() or (stem / "__init__.py").is_file()


def _path(module: str, root: Path) -> Path:
    stem = root.joinpath(*module.split("."))
    return stem / "__init__.py" if stem.is_dir() else stem.with_suffix(".py")


@cache
def _file_digest(file: Path) -> str:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return hashlib.sha256(_dump(tree).encode()).hexdigest()


def _dump(node: object) -> str:
    if isinstance(node, list):
        return f"[{','.join(map(_dump, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = [
        f"{name}={_dump(value)}"
        for name, value in ast.iter_fields(_without_docstring(node))
        if value is not None and value != [] and name not in {"ctx", "kind", "type_comment"}
    ]
    return f"{type(node).__name__}({','.join(fields)})"


def _without_docstring(node: ast.AST) -> ast.AST:
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
        node.body = node.body[1:]
    return node
