"""The validated configuration and what every stage needs of it."""

import hashlib
import os
import shlex
import sys
from pathlib import Path

from ctxaudit import inputs, plugins, sharding
from ctxaudit.config import root as configuration
from ctxaudit.errors import UserError
from ctxaudit.llm import calling, redaction
from ctxaudit.provenance.code import code_digest

ROOT = Path(workflow.basedir)

# Snakemake puts the interpreter's path into shell commands as it is; a blank would end it.
sys.executable = shlex.quote(sys.executable)


def or_stop(check, *arguments, **settings):
    """What a check gives; a fault of the user ends the run with its message alone."""
    try:
        return check(*arguments, **settings)
    except UserError as error:
        print(f"The run cannot start:\n{error}", file=sys.stderr)
        sys.exit(1)


# A file given with --configfile replaces the default; merged into it, the demo's models and
# datasets would stay in force beside the user's own.
if not workflow.overwrite_configfiles:
    # Snakemake's own reader names neither the line of a fault nor what is not UTF-8.
    or_stop(configuration.read, Path("config/config.yaml"))

    configfile: "config/config.yaml"


CONFIG = or_stop(configuration.validate, config, source=" + ".join(map(str, workflow.configfiles)))

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
    shard=r"\d+-of-\d+",
    steering="|".join(["none", *SCHEDULES]),


def code(script, *modules):
    """Digest of a rule's script, the modules it loads by name and all that they import."""
    return code_digest(ROOT / f"workflow/scripts/{script}.py", root=ROOT, plugins=modules)


def text_file(key):
    """Input function: the text file that a key names, its placeholders filled by wildcards.

    Input functions run for the jobs of the run alone, so files that no job reads may be absent.
    """

    def find(wildcards):
        name = key.format(**wildcards)
        return or_stop(inputs.check_text_file, value_of(name), key=name)

    return find


def json_files(key):
    """Input function: the JSON files in the folder that a key names, likewise."""

    def find(wildcards):
        name = key.format(**wildcards)
        return or_stop(inputs.find_json_files, value_of(name), key=name)

    return find


def value_of(key):
    """The configuration's value at a dotted key."""
    value = CONFIG
    for part in key.split("."):
        value = value[part] if isinstance(value, dict) else getattr(value, part)
    return value


def check_keys(jobs):
    """See that the environment holds the key of each endpoint that one of the jobs may call."""
    if CONFIG.llm.mode == "replay":
        return
    for job in jobs:
        entry = job.params.get("model")
        if isinstance(entry, dict) and entry["kind"] == "endpoint":
            or_stop(redaction.read_key, os.environ, entry["key_variable"], entry["model"])


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
