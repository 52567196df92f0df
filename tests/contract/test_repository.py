import re
import subprocess
from pathlib import Path

import pytest
from source_tree import ROOT

from ctxaudit import prompts
from ctxaudit.config.root import load, schema_text

TRACKED = subprocess.run(
    ["git", "ls-files", "-z"],  # noqa: S607
    cwd=ROOT,
    capture_output=True,
    text=True,
    check=True,
).stdout.split("\0")[:-1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
PROMPTS = sorted((ROOT / "config/prompts").glob("*.yaml"))
TASKS = {"rerank", "smooth"}

FORBIDDEN = {
    "code of others is run": r"trust_remote_code\s*[=:]\s*True",
    "pickle": r"\bimport pickle|\bfrom pickle|\bpickle\.loads?\b|allow_pickle\s*=\s*True",
    "a path of one machine": r"(?<![\w.$}])/(?:work|tmp|home/\w+)/",
}


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_the_schema_is_that_of_the_code():
    """`make schema` writes it."""
    stored = (ROOT / "config/schema.json").read_text(encoding="utf-8")
    assert stored == schema_text()


@pytest.mark.parametrize("path", sorted((ROOT / "config").glob("*.yaml")), ids=shown)
def test_every_configuration_is_valid(path: Path):
    load(path)


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_every_link_to_a_file_leads_somewhere(page: Path):
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    files = [target for target in targets if not re.match(r"\w+:", target)]
    assert [target for target in files if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("reason", FORBIDDEN)
def test_no_file_holds_what_none_may(reason: str):
    files = [path for path in map(ROOT.joinpath, TRACKED) if path.is_file()]
    texts = {shown(path): path.read_text(encoding="utf-8", errors="replace") for path in files}
    assert [path for path, text in texts.items() if re.search(FORBIDDEN[reason], text)] == []


@pytest.mark.parametrize("path", PROMPTS, ids=shown)
def test_every_prompt_is_read_by_its_reader(path: Path):
    read = prompts.read_task if path.stem.startswith(tuple(TASKS)) else prompts.read
    read(path)


def test_every_prompt_serves_a_configuration():
    used = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "config").glob("*.yaml"))
    assert [shown(path) for path in PROMPTS if shown(path) not in used] == []
