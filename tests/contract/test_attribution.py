"""What every attribution method must hold to."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
from pydantic import BaseModel, ValidationError

from ctxaudit import plugins
from ctxaudit.ablation import planner
from ctxaudit.ablation.masks import all_masks
from ctxaudit.artifacts import attributions
from ctxaudit.attribution import apply
from ctxaudit.interface import Ablations, Attribution, AttributionMethod, Evidence, TokenDistances

METHODS = plugins.available("attribution")

each = pytest.mark.parametrize("name", METHODS)


def test_finding_them_imports_no_heavy_library():
    code = (
        "import sys; from ctxaudit import plugins; "
        "[plugins.load('attribution', name) for name in plugins.available('attribution')]; "
        "sys.exit(any(m in sys.modules for m in ('sklearn', 'scipy', 'torch', 'transformers')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def evidence_for(name: str, num_sources: int, *, num_tokens: int = 3, seed: int = 0) -> Evidence:
    """Random evidence of the kind that the method reads."""
    rng = np.random.default_rng(seed)
    if plugins.load("attribution", name).EVIDENCE == "ablations":
        masks = all_masks(num_sources)
        logprobs = -rng.exponential(2.0, (len(masks), num_tokens + 1))
        return Ablations(example_id="q", masks=masks, logprobs=logprobs, has_end_token=True)
    size = (num_tokens, 4 * num_sources)
    return TokenDistances(
        example_id="q",
        distances=rng.random(size),
        matches=rng.random(size) < 0.3,
        source=np.repeat(np.arange(num_sources), 4),
        num_sources=num_sources,
    )


def run(name: str, evidence: Evidence, p_empty: float = 0.4) -> Attribution:
    return apply.attribute(name, [evidence], settings={}, p_empty=[p_empty], seed=5)[0]


@each
def test_is_a_method(name: str):
    method = plugins.load("attribution", name)
    assert isinstance(method, AttributionMethod)
    assert issubclass(method.Settings, BaseModel)
    assert all(field.description for field in method.Settings.model_fields.values())


@each
def test_settings_are_frozen_and_refuse_unknown_keys(name: str):
    settings = plugins.load("attribution", name).Settings
    assert settings.model_config["frozen"]
    with pytest.raises(ValidationError):
        settings.model_validate({"no_such_setting": 1})


@each
@pytest.mark.parametrize("num_sources", [1, 2, 6])
@pytest.mark.parametrize("num_tokens", [1, 5])
def test_scores_and_labels_every_source(name: str, num_sources: int, num_tokens: int):
    found = run(name, evidence_for(name, num_sources, num_tokens=num_tokens))
    assert found.scores.shape == (num_sources,)
    assert np.isfinite(found.scores).all()
    assert len(found.labels) == num_sources
    assert found.reason == ""


@each
def test_the_same_seed_gives_the_same_scores(name: str):
    evidence = evidence_for(name, 6)
    np.testing.assert_array_equal(run(name, evidence).scores, run(name, evidence).scores)


@each
def test_reads_no_more_than_it_planned(name: str):
    method = plugins.load("attribution", name)
    whole = evidence_for(name, 7)
    planned = method.plan_masks(7, method.Settings(), seed=5)
    assert planned.dtype == bool
    assert planned.shape[1] == 7
    if not isinstance(whole, Ablations):
        assert not len(planned)
        return
    rows = [(whole.masks == mask).all(axis=1).argmax() for mask in np.unique(planned, axis=0)]
    part = dataclasses.replace(whole, masks=whole.masks[rows], logprobs=whole.logprobs[rows])
    np.testing.assert_array_equal(run(name, part).scores, run(name, whole).scores)


def test_the_joint_plan_suffices_beyond_the_exact_limit(overlap_results):
    examples = overlap_results(num_examples=1, num_sources=7).examples
    methods = {name: {} for name in METHODS}
    (plan,) = planner.plan(examples, methods, {}, exact_limit=3, seed=5)
    assert len(np.unique(plan, axis=0)) == len(plan) < 2**7
    for name in METHODS:
        whole = evidence_for(name, 7)
        if isinstance(whole, Ablations):
            rows = [(whole.masks == mask).all(axis=1).argmax() for mask in plan]
            part = dataclasses.replace(whole, masks=plan, logprobs=whole.logprobs[rows])
            np.testing.assert_array_equal(run(name, part).scores, run(name, whole).scores)


@each
def test_a_response_of_no_tokens_has_a_reason(name: str):
    found = run(name, evidence_for(name, 3, num_tokens=0))
    assert np.isnan(found.scores).all()
    assert found.labels == ()
    assert found.reason == "the response has no token"


@each
def test_what_is_not_finite_has_a_reason(name: str):
    evidence = evidence_for(name, 3)
    if isinstance(evidence, Ablations):
        evidence.logprobs[:] = -np.inf
    else:
        evidence.distances[:] = np.nan
    found = run(name, evidence)
    assert np.isnan(found.scores).all()
    assert "not finite" in found.reason


@pytest.mark.parametrize(
    "name", [name for name in METHODS if plugins.load("attribution", name).EVIDENCE == "ablations"]
)
def test_a_missing_ablation_has_a_reason(name: str):
    evidence = evidence_for(name, 3)
    masks, logprobs = evidence.masks[:-1], evidence.logprobs[:-1]
    found = run(name, dataclasses.replace(evidence, masks=masks, logprobs=logprobs))
    assert np.isnan(found.scores).all()
    assert "not evaluated" in found.reason


@each
def test_a_certain_response_and_duplicate_sources_give_finite_scores(name: str):
    evidence = evidence_for(name, 4)
    if isinstance(evidence, Ablations):
        levels = -1e-9 * (evidence.masks[:, 0] | evidence.masks[:, 1])
        evidence.logprobs[:] = levels[:, None]
    else:
        evidence.distances[:] = 0
        evidence.matches[:] = True
    assert np.isfinite(run(name, evidence).scores).all()


@each
def test_attributions_survive_their_file(name: str, tmp_path):
    found = [run(name, evidence_for(name, 3)), run(name, evidence_for(name, 3, num_tokens=0))]
    attributions.write(tmp_path / "a.parquet", found)
    for read, written in zip(attributions.read(tmp_path / "a.parquet"), found, strict=True):
        np.testing.assert_array_equal(read.scores, written.scores)
        np.testing.assert_array_equal(read.masks, written.masks)
        assert (read.labels, read.reason) == (written.labels, written.reason)
