"""Faults of the user's that end a run before any costly job, each named with its key."""

import shutil
import subprocess
from pathlib import Path

import pytest
from running import broken, snakemake
from tiny import ROOT, build_language_model, build_tokenizer

ENDPOINT = {"kind": "endpoint", "model": "judge-2024-08-06", "key_variable": "CTXAUDIT_NO_KEY"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A work directory with the default configuration and its inputs."""
    for name in ("config", "resources"):
        shutil.copytree(ROOT / name, tmp_path / name)
    return tmp_path


def changed(folder: Path, **change: object) -> Path:
    dotted = {key.replace("__", "."): value for key, value in change.items()}
    return broken(folder / "config/config.yaml", folder, dotted)


def refused(ran: subprocess.CompletedProcess[str]) -> str:
    """What a run says that must have failed without a traceback."""
    output = ran.stdout + ran.stderr
    assert ran.returncode != 0
    assert "Traceback" not in output
    return output


@pytest.mark.parametrize(
    "key",
    [
        "overlap.corpora.retain",
        "overlap.datasets.demo.path",
        "overlap.reranking.prompt",
        "conflict.prompts.single_reasoning",
        "conflict.balance.prompt",
        "conflict.instances.temporal",
    ],
)
def test_an_absent_input_is_named_with_its_key(folder: Path, key: str):
    config = broken(folder / "config/config.yaml", folder, {key: "nowhere/it"})
    output = refused(snakemake("-n", folder=folder, config=config))
    assert f"{key}: nowhere/it: no such file or directory; put it there" in output
    assert "MissingInputException" not in output


def test_only_what_the_run_reads_must_be_there(folder: Path):
    config = changed(folder, overlap__corpora__retain="nowhere.jsonl")
    ran = snakemake("-n", "conflict", folder=folder, config=config)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_plan_needs_no_file_and_no_key(folder: Path):
    config = changed(
        folder,
        overlap__corpora__retain="nowhere.jsonl",
        models__judge=ENDPOINT,
        overlap__reranking__judge="judge",
        planning__corpora={"retain": {"num_documents": 10, "num_characters": 1000}},
    )
    ran = snakemake("--cores", "1", "plan", folder=folder, config=config)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "files absent, sizes as planning states: retain" in ran.stdout


def test_a_prompt_that_is_not_utf8_is_named_with_its_line(folder: Path):
    (folder / "config/prompts/smooth.yaml").write_bytes(b"chat: true\nuser: gr\xfc\xdfe\n")
    output = refused(snakemake("-n", folder=folder))
    assert "overlap.smoothing.prompt: config/prompts/smooth.yaml:2: not UTF-8" in output


def test_a_key_that_is_not_set_stops_the_run_before_any_job(folder: Path):
    config = changed(folder, models__judge=ENDPOINT, overlap__reranking__judge="judge")
    output = refused(snakemake("--cores", "1", folder=folder, config=config))
    assert "judge-2024-08-06: the environment variable CTXAUDIT_NO_KEY holds no key" in output
    assert not (folder / "results").exists()


def test_a_key_is_asked_for_only_where_a_job_may_use_it(folder: Path):
    config = changed(folder, models__judge=ENDPOINT, overlap__reranking__judge="judge")
    target = "results/overlap/questions/demo.jsonl"
    ran = snakemake("--cores", "1", target, folder=folder, config=config)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_replay_of_stored_replies_needs_no_key(folder: Path):
    config = changed(
        folder,
        models__judge=ENDPOINT,
        overlap__reranking__judge="judge",
        llm={"mode": "replay"},
        # No costly job can begin.
        models__smollm2={"kind": "folder", "path": "nowhere"},
        models__minilm={"kind": "folder", "path": "nowhere"},
    )
    target = "results/overlap/reranked/demo/retain.jsonl"
    output = refused(snakemake("--cores", "1", target, folder=folder, config=config))
    assert "CTXAUDIT_NO_KEY" not in output
    assert "nowhere: no such model folder" in output


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "config/config.yaml: cannot be read: No such file"),
        (b"seed: \xff\n", "config/config.yaml: not UTF-8"),
        (b"seed: 1\nmodels: [\n", "config/config.yaml: not valid YAML"),
    ],
)
def test_a_default_configuration_that_cannot_be_read_is_named(
    tmp_path: Path, content: bytes | None, message: str
):
    if content is not None:
        (tmp_path / "config").mkdir()
        (tmp_path / "config/config.yaml").write_bytes(content)
    assert message in refused(snakemake("-n", folder=tmp_path))


def test_what_does_not_fit_a_model_is_found_without_any_other_stage(folder: Path):
    questions = (folder / "resources/demo/overlap/questions.jsonl").read_text("utf-8")
    tokenizer = build_tokenizer(questions.splitlines())
    build_language_model(folder / "llama", tokenizer)
    long = '{"question": "' + "why " * 3000 + '", "choices": ["a", "b"], "answer": 0}\n'
    (folder / "long.jsonl").write_text(long, "utf-8")
    config = changed(
        folder,
        models__smollm2={"kind": "folder", "path": str(folder / "llama")},
        overlap__datasets__demo__path="long.jsonl",
        conflict__steering__layers=[2, 3],
    )
    targets = ("overlap/preflight/demo/smollm2.json", "conflict/preflight/smollm2.json")
    ran = snakemake(
        *("--cores", "2", "--keep-going", *(f"results/{target}" for target in targets)),
        folder=folder,
        config=config,
    )
    output = refused(ran)
    assert "conflict.steering.layers: model 'smollm2' has no block 3; allowed are 1 to 2" in output
    assert "without any source" in output
    assert "the window of model 'smollm2', 2048 tokens" in output
