"""The validated configuration and what every stage needs of it."""

import hashlib
import os
import shlex
import sys
from pathlib import Path

from ctxaudit import plugins
from ctxaudit.config import root as configuration
from ctxaudit.errors import UserError
from ctxaudit.llm import calling
from ctxaudit.provenance.code import code_digest

ROOT = Path(workflow.basedir)

# Snakemake puts the interpreter's path into shell commands as it is; a blank would end it.
sys.executable = shlex.quote(sys.executable)

try:
    CONFIG = configuration.validate(config, source=" + ".join(map(str, workflow.configfiles)))
except UserError as error:
    print(f"The configuration is not valid:\n{error}", file=sys.stderr)
    sys.exit(1)

# The jobs inherit it.
calling.to_environment(CONFIG, os.environ)

METHODS = sorted(CONFIG.overlap.methods)
METRICS = sorted(CONFIG.overlap.metrics)
DATASETS = sorted(CONFIG.overlap.datasets)
CONFLICTS = sorted(CONFIG.conflict.instances)
SCHEDULES = sorted(CONFIG.conflict.steering.schedules)
VARIANTS = ["base", "tuned"]


wildcard_constraints:
    model="|".join(CONFIG.models),
    dataset="|".join(DATASETS),
    corpus="retain|forget",
    variant="base|tuned",
    method="|".join(METHODS),
    metric="|".join(METRICS),
    conflict="|".join(CONFLICTS),
    schedule="|".join(SCHEDULES),
    steering="|".join(["none", *SCHEDULES]),


def code(script, *modules):
    """Digest of a rule's script, the modules it loads by name and all that they import."""
    return code_digest(ROOT / f"workflow/scripts/{script}.py", root=ROOT, plugins=modules)


def plain(section, *unread):
    """A section of the configuration as one named value, so that swapped values are seen.

    Keys that the rule does not read are left out.
    """
    return section.model_dump(mode="json", exclude=set(unread))


def seed_of(*parts):
    """A seed of one stage, derived from the run's seed and the names of what it works on."""
    text = "/".join([str(CONFIG.seed), *parts])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) >> 1


def manifest(model):
    """Manifest of a model folder, or nothing for a model behind an endpoint."""
    local = CONFIG.models[model].kind != "endpoint"
    return [f"results/models/{model}/manifest.json"] if local else []


def dtype(model):
    """Precision of a local model."""
    return getattr(CONFIG.models[model], "dtype", "float32")
