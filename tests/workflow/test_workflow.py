"""The whole workflow on tiny random models: it runs, then there is nothing to be done."""

import json
from pathlib import Path

import pandas as pd
import pytest
import yaml
from running import broken, snakemake
from tiny import build_project


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    # The blank in the folder's name is a part of the test.
    folder = tmp_path_factory.mktemp("a project")
    config = build_project(folder)
    # More jobs than cores: on models of this size most of a job is its imports.
    ran = snakemake("--cores", "8", "--quiet", "rules", folder=folder, config=config)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return folder, config


def test_every_table_has_counts_and_every_figure_is_there(project: tuple[Path, Path]):
    folder, _ = project
    tables = sorted((folder / "results/tables").glob("*.csv"))
    assert tables
    for path in tables:
        table = pd.read_csv(path)
        assert len(table), path
        assert {"n", "undefined"} <= set(table.columns), path
        assert table[["n", "undefined"]].notna().all(axis=None), path
        assert path.with_suffix(".md").stat().st_size
        assert path.with_suffix(".tex").stat().st_size
    figures = sorted((folder / "results/figures").glob("*.png"))
    assert figures
    assert all(path.with_suffix(".pdf").stat().st_size for path in figures)


def test_a_second_run_has_nothing_to_do(project: tuple[Path, Path]):
    folder, config = project
    again = snakemake("--cores", "2", folder=folder, config=config)
    assert again.returncode == 0
    assert "Nothing to be done" in again.stdout + again.stderr


def test_no_text_log_or_artifact_is_left_half_written(project: tuple[Path, Path]):
    folder, _ = project
    assert not [path for path in (folder / "results").rglob(".*") if path.is_file()]


def test_a_changed_metric_setting_reruns_arithmetic_alone(project: tuple[Path, Path]):
    folder, config = project
    raw = yaml.safe_load(config.read_text("utf-8"))
    raw["overlap"]["metrics"]["cac"]["rho"] = [0.9]
    raw["overlap"]["methods"]["contextcite"]["alpha"] = 0.02
    changed = folder / "changed.yaml"
    changed.write_text(yaml.safe_dump(raw), "utf-8")
    planned = snakemake("-n", "--quiet", "rules", folder=folder, config=changed)
    rules = {line.split()[0] for line in (planned.stdout + planned.stderr).splitlines() if line}
    assert {"attribute_context", "evaluate_attribution", "build_table"} <= rules
    models_at_work = {"score_answers", "score_ablations", "measure_token_distances"}
    assert not rules & (models_at_work | {"finetune_model", "rerank_candidates"})


def test_a_changed_prompt_reruns_all_that_rests_on_it_at_once(project: tuple[Path, Path]):
    folder, config = project
    raw = yaml.safe_load(config.read_text("utf-8"))
    raw["overlap"]["answering"]["scoring"] = "letter"
    raw["overlap"]["finetuning"]["min_gain"] = -0.9
    changed = folder / "letters.yaml"
    changed.write_text(yaml.safe_dump(raw), "utf-8")
    planned = snakemake("-n", "--quiet", "rules", folder=folder, config=changed)
    rules = {line.split()[0] for line in (planned.stdout + planned.stderr).splitlines() if line}
    assert {"measure_recall", "score_answers", "score_ablations", "attribute_context"} <= rules
    assert not rules & {"finetune_model", "smooth_contexts"}


def test_scores_survive_the_loss_of_a_table(project: tuple[Path, Path]):
    folder, config = project
    table = folder / "results/overlap/ablations/demo/smollm2/base.parquet"
    before = pd.read_parquet(table)
    segments = sorted((folder / "results/store").rglob("*.parquet"))
    table.unlink()
    target = str(table.relative_to(folder))
    ran = snakemake("--cores", "2", target, folder=folder, config=config)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    pd.testing.assert_frame_equal(pd.read_parquet(table), before)
    assert sorted((folder / "results/store").rglob("*.parquet")) == segments


def test_shards_make_the_same_table_and_score_nothing_again(
    project: tuple[Path, Path], tmp_path: Path
):
    folder, config = project
    table = folder / "results/overlap/ablations/demo/smollm2/base.parquet"
    before = pd.read_parquet(table)
    segments = sorted((folder / "results/store").rglob("*.parquet"))
    sharded = broken(config, tmp_path, {"overlap.num_shards": 3})
    target = str(table.relative_to(folder))
    ran = snakemake(target, "--cores", "8", folder=folder, config=sharded)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    shards = folder / "results/shards/overlap/ablations/demo/smollm2/base"
    assert {path.stem for path in shards.glob("*-of-3.parquet")} == {
        "1-of-3",
        "2-of-3",
        "3-of-3",
    }
    pd.testing.assert_frame_equal(pd.read_parquet(table), before)
    assert sorted((folder / "results/store").rglob("*.parquet")) == segments


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"overlap.chunking.overlap": 64}, "overlap.chunking: overlap must be smaller"),
        (
            {"overlap.chunking.num_token": 64},
            "num_token: unknown key; allowed: num_tokens, overlap, tokenizer",
        ),
        ({"overlap.ablation.exact_limit": "many"}, "overlap.ablation.exact_limit"),
        ({"overlap.methods.lime": {}}, "available: attribot, contextcite"),
        ({"overlap.methods.contextcite": {"alhpa": 1}}, "methods.contextcite.alhpa"),
        ({"overlap.reranking.num_iw": 9}, "9 segments cannot be chosen from 4 candidates"),
        ({"overlap.finetuning.modules": {}}, "no entry for target model(s) smollm2"),
        ({"conflict.steering.layers": [0]}, "conflict.steering.layers.0"),
        ({"overlap.reranking.judge": "gpt"}, "unknown model 'gpt'; available: minilm, smollm2"),
        (
            {"conflict.generation.engines": {"smollm2": "minilm"}},
            "engines.smollm2: 'minilm' is a model of this process",
        ),
    ],
)
def test_a_wrong_configuration_stops_before_any_job_without_a_traceback(
    project: tuple[Path, Path], tmp_path: Path, change: dict[str, object], message: str
):
    _, config = project
    ran = snakemake("-n", folder=tmp_path, config=broken(config, tmp_path, change))
    output = ran.stdout + ran.stderr
    assert ran.returncode != 0
    assert message in output
    assert "Traceback" not in output


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"question": "A", "choices": ["a", "b"], "answer": 2}', "answer"),
        ('{"question": "", "choices": ["a", "b"], "answer": 0}', "question"),
        ("{not json", "not valid JSON"),
    ],
)
def test_a_faulty_question_names_file_line_and_field(
    project: tuple[Path, Path], tmp_path: Path, line: str, message: str
):
    _, config = project
    questions = tmp_path / "faulty.jsonl"
    good = json.dumps({"question": "Q", "choices": ["a", "b"], "answer": 0})
    questions.write_text(f"{good}\n{line}\n", "utf-8")
    change = {"overlap.datasets.demo.path": str(questions)}
    changed = broken(config, tmp_path, change)
    target = "results/overlap/questions/demo.jsonl"
    ran = snakemake("--cores", "1", target, folder=tmp_path, config=changed)
    output = ran.stdout + ran.stderr
    assert ran.returncode != 0
    assert "faulty.jsonl:2" in output
    assert message in output
    assert "Traceback" not in output
