from pathlib import Path

import pytest

from ctxaudit.provenance import code


@pytest.fixture
def project(tmp_path: Path) -> Path:
    package = tmp_path / "ctxaudit"
    (package / "methods").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "methods" / "__init__.py").touch()
    (package / "deep.py").write_text("VALUE = 1\n")
    (package / "middle.py").write_text(
        "from ctxaudit.deep import VALUE\n\n\ndef f():\n    return VALUE\n"
    )
    (package / "methods" / "one.py").write_text("from ctxaudit import deep\n")
    (package / "other.py").write_text("X = 1\n")
    (package / "config").mkdir()
    (package / "config" / "__init__.py").touch()
    (package / "config" / "part.py").write_text("from ctxaudit import other\n\nY = 1\n")
    (package / "configured.py").write_text("Y = 1\n")
    (package / "logs.py").write_text("Y = 1\n")
    (tmp_path / "script.py").write_text(
        "from ctxaudit import config, configured, logs, middle\n"
        "from ctxaudit.config import part\nfrom ctxaudit.config.part import Y\n\nmiddle.f()\n"
    )
    return tmp_path


def digest(project: Path, plugins: tuple[str, ...] = ()) -> str:
    code._imports.cache_clear()
    code._file_digest.cache_clear()
    return code.code_digest(project / "script.py", root=project, plugins=plugins)


@pytest.mark.parametrize(
    ("file", "text", "changes"),
    [
        ("ctxaudit/deep.py", "VALUE = 2\n", True),
        ("ctxaudit/deep.py", '"""Doc."""\n# why\nVALUE  =  1\n', False),
        ("ctxaudit/other.py", "X = 2\n", False),
        ("ctxaudit/logs.py", "Y = 2\n", False),
        ("ctxaudit/config/__init__.py", "Y = 2\n", False),
        ("ctxaudit/config/part.py", "Y = 2\n", False),
        ("ctxaudit/configured.py", "Y = 2\n", True),
        ("script.py", "from ctxaudit import middle\n\nmiddle.f()\nmiddle.f()\n", True),
        ("ctxaudit/__init__.py", "Z = 1\n", True),
    ],
)
def test_only_meaning_within_reach_counts(project: Path, file: str, text: str, changes: bool):
    before = digest(project)
    (project / file).write_text(text)
    assert (digest(project) != before) == changes


def test_a_plugin_and_its_imports_count_only_where_it_is_named(project: Path):
    plain, with_plugin = digest(project), digest(project, ("ctxaudit.methods.one",))
    assert plain != with_plugin
    (project / "ctxaudit/methods/one.py").write_text("from ctxaudit import deep, other\n")
    assert digest(project) == plain
    assert digest(project, ("ctxaudit.methods.one",)) != with_plugin


def test_docstrings_of_functions_and_classes_do_not_count(project: Path):
    before = digest(project)
    middle = 'from ctxaudit.deep import VALUE\n\n\ndef f():\n    """Doc."""\n    return VALUE\n'
    (project / "ctxaudit/middle.py").write_text(middle)
    assert digest(project) == before
