"""A sample of a question set that depends on a seed and on ids, never on the order of the file."""

import hashlib
import heapq
from collections.abc import Iterable, Iterator

from ctxaudit.interface import Example
from ctxaudit.logs import logger


def sample(
    examples: Iterable[Example], *, num_examples: int | None, seed: int
) -> Iterator[Example]:
    """The `num_examples` examples whose ids come first by hash, in the order of the file.

    With the same seed a larger sample holds the smaller one. Memory holds the sample only.

    Args:
        examples: Examples with unique ids, read once.
        num_examples: Size; None takes all, streamed. A file with fewer gives all it has.
        seed: Another seed gives another sample.
    """
    if num_examples is None:
        yield from examples
        return
    # The heap's first entry is the last by hash; positions differ, so examples are not compared.
    chosen: list[tuple[int, int, Example]] = []
    for position, example in enumerate(examples):
        entry = (-_rank(seed, example.id), position, example)
        if len(chosen) < num_examples:
            heapq.heappush(chosen, entry)
        else:
            heapq.heappushpop(chosen, entry)
    if len(chosen) < num_examples:
        logger.warning("%d examples wanted, there are %d", num_examples, len(chosen))
    yield from (example for _, _, example in sorted(chosen, key=lambda entry: entry[1]))


def _rank(seed: int, name: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed}\0{name}".encode()).digest()[:16])
