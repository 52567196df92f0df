"""Token sequences as a prefix tree, flattened so that every shared prefix stands there once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Trie:
    """The nodes of a token trie in depth-first order, N of them, one token each.

    Node j is an ancestor of node i, or i itself, exactly if `j <= i < ends[j]`.

    Attributes:
        tokens: (N,) token id of each node.
        depths: (N,) distance from the root, which is the token's position in its sequence.
        ends: (N,) one past the last node of the subtree of each node.
        paths: Per sequence, in the order given, the nodes that it runs through.
    """

    tokens: IntArray
    depths: IntArray
    ends: IntArray
    paths: list[IntArray]


def build(sequences: Sequence[tuple[int, ...]]) -> Trie:
    """Flatten token sequences into their trie; neighbours in sorted order share the most."""
    order = sorted(range(len(sequences)), key=sequences.__getitem__)
    tokens: list[int] = []
    depths: list[int] = []
    ends: list[int] = []
    paths: list[IntArray] = [np.empty(0, dtype=np.int64)] * len(sequences)
    open_path = np.empty(0, dtype=np.int64)
    previous: tuple[int, ...] = ()
    for index in order:
        sequence = sequences[index]
        shared = _common_prefix(previous, sequence)
        for node in open_path[shared:]:
            ends[node] = len(tokens)
        first = len(tokens)
        tokens.extend(sequence[shared:])
        depths.extend(range(shared, len(sequence)))
        ends.extend([-1] * (len(sequence) - shared))
        open_path = np.concatenate([open_path[:shared], np.arange(first, len(tokens))])
        paths[index] = open_path
        previous = sequence
    for node in open_path:
        ends[node] = len(tokens)
    return Trie(np.array(tokens), np.array(depths), np.array(ends), paths)


def _common_prefix(left: tuple[int, ...], right: tuple[int, ...]) -> int:
    for count, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return count
    return min(len(left), len(right))
