"""Named arrays as safetensors."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import safetensors.numpy

from ctxaudit.artifacts.writing import replacing


def read(path: str | Path) -> dict[str, npt.NDArray[Any]]:
    """Named arrays of a safetensors file."""
    return dict(safetensors.numpy.load_file(path))


def write(path: str | Path, tensors: Mapping[str, npt.NDArray[Any]]) -> None:
    """Named arrays as safetensors."""
    with replacing(path) as new:
        safetensors.numpy.save_file(
            {name: np.ascontiguousarray(array) for name, array in tensors.items()}, new
        )
