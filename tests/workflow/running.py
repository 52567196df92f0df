"""Running the workflow from a test, and breaking its configuration."""

import os
import subprocess
import sys
from pathlib import Path

import yaml
from tiny import ROOT


def snakemake(
    *arguments: str, folder: Path, config: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the workflow in a folder of its own; without `config` with the folder's default."""
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile")]
    given = [] if config is None else ["--configfile", str(config)]
    command += [*given, "--directory", str(folder), *arguments]
    offline = {**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    return subprocess.run(command, capture_output=True, text=True, env=offline, check=False)


def broken(config: Path, folder: Path, change: dict[str, object]) -> Path:
    """A copy of the configuration with dotted keys set to other values."""
    raw = yaml.safe_load(config.read_text("utf-8"))
    for dotted, value in change.items():
        *path, last = dotted.split(".")
        section = raw
        for key in path:
            section = section[key]
        section[last] = value
    copy = folder / "broken.yaml"
    copy.write_text(yaml.safe_dump(raw), "utf-8")
    return copy
