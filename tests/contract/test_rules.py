import ast
import re
from pathlib import Path

import pytest
from source_tree import ROOT, Rule, reached, rules

TARGETS = {"all", "overlap", "conflict"}
# `plan` prints and leaves nothing behind that could be stale.
STAGES = [rule for name, rule in rules().items() if name not in TARGETS | {"plan"}]
SCRIPTED = [*STAGES, rules()["plan"]]
SCRIPTS = sorted((ROOT / "workflow/scripts").glob("*.py"))

# These only import modules that can run a model: they use a tokenizer, copy files, or compute
# from tables and stored states.
WITHOUT_MODEL = {
    "build_index",
    "check_instances",
    "check_questions",
    "chunk_corpus",
    "snapshot_model",
}

each_stage = pytest.mark.parametrize("rule", STAGES, ids=lambda rule: rule.name)
each_script = pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)


def quoted(text: str) -> list[str]:
    return re.findall(r'"((?:results|logs|benchmarks)/[^"]+)"', text)


def test_all_rules_are_found():
    assert TARGETS | {"plan", "score_answers", "steer_responses"} <= set(rules())


@pytest.mark.parametrize("rule", rules().values(), ids=lambda rule: rule.name)
def test_a_rule_has_a_docstring_and_no_code_of_its_own(rule: Rule):
    assert re.match(r' {4}"""[A-Z].*\."""\n', rule.body)
    assert not {"run", "shell"} & set(rule.directives)
    assert "lambda" not in rule.body


@each_stage
def test_a_stage_names_its_log_benchmark_environment_code_and_script(rule: Rule):
    assert {"output", "log", "benchmark", "conda", "params", "script"} <= set(rule.directives)
    assert re.search(r"^ {8}code=", rule.directives["params"], flags=re.M)
    assert rule.environment.is_file()


@pytest.mark.parametrize("rule", SCRIPTED, ids=lambda rule: rule.name)
def test_the_script_bears_the_name_of_its_rule(rule: Rule):
    assert rule.script == ROOT / f"workflow/scripts/{rule.name}.py"
    assert rule.script.is_file()


@each_stage
def test_the_digest_is_of_the_rules_own_script(rule: Rule):
    value = re.search(r"^ {8}code=(.+),$", rule.directives["params"], flags=re.M)[1]
    if value.isidentifier():
        text = (ROOT / "rules/wildcards.smk").read_text(encoding="utf-8")
        value = re.search(rf"^def {value}\(.*?^    return (.+?)\n", text, flags=re.M | re.S)[1]
    assert value.startswith(f'code("{rule.name}"')


@each_stage
def test_only_figures_depend_on_their_look(rule: Rule):
    reads = {"ctxaudit.report.style", "ctxaudit.report.bars"} & reached(rule.script, *rule.plugins)
    assert bool(reads) == (rule.name == "plot_figure")


@each_stage
def test_log_and_benchmark_lie_where_the_output_does(rule: Rule):
    outputs = quoted(rule.directives["output"])
    (log,), (benchmark,) = quoted(rule.directives["log"]), quoted(rule.directives["benchmark"])
    stem = log.removeprefix("logs/").removesuffix(".log")
    assert benchmark == f"benchmarks/{stem}.tsv"
    if rule.file.stem == "models":
        # Two rules make the manifest, one for each kind of model; their logs must differ.
        assert stem == f"models/{rule.name.removesuffix('_model')}_{{model}}"
        return
    stems = {re.sub(r"(/manifest)?\.\w+$", "", path).removeprefix("results/") for path in outputs}
    assert stem in stems or {path.rpartition("/")[0] for path in stems} == {stem}


@each_stage
def test_rules_that_run_a_model_take_four_threads(rule: Rule):
    can_run_model = {"torch", "sentence_transformers"} & reached(rule.script)
    runs_model = can_run_model and rule.name not in WITHOUT_MODEL
    assert rule.directives.get("threads", "").strip() == ("4" if runs_model else "")


def test_every_script_belongs_to_a_rule():
    assert {script.stem for script in SCRIPTS} == {rule.name for rule in SCRIPTED}


@each_script
def test_a_script_only_wires_files_to_the_library(script: Path):
    text = script.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert len(text.splitlines()) <= 45
    assert ast.get_docstring(tree)
    defined = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
    assert not [node for node in ast.walk(tree) if isinstance(node, defined)]
    assert "snakemake.config" not in text
    assert "log_to(snakemake.log[0])" in text
