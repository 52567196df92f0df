"""Masks as text: "101" keeps the first and the third source."""

from collections.abc import Iterable

import numpy as np

from ctxaudit.interface import BoolArray


def parse(texts: Iterable[str]) -> BoolArray:
    """(M, S) from M texts of S characters."""
    return np.array([[bit == "1" for bit in text] for text in texts], dtype=bool)


def show(masks: BoolArray) -> list[str]:
    """M texts of S characters from (M, S)."""
    return ["".join("1" if keep else "0" for keep in mask) for mask in masks]
