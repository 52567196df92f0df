"""From a folder of instances to conflict examples, their consistent twins and the split."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from ctxaudit import plugins
from ctxaudit.datasets import contextconflict
from ctxaudit.errors import UserError
from ctxaudit.interface import Example


def build(conflict_type: str, path: str, *, calibration_share: float, seed: int) -> list[Example]:
    """Each instance followed by its consistent twin, split into calibration and test.

    Args:
        conflict_type: A module of `ctxaudit.conflict`.
        path: Folder of instances, see `ctxaudit.datasets.contextconflict`.
        calibration_share: Wanted share of instances in the calibration part, in (0, 1).
        seed: Seed of the split.

    Returns:
        Examples with tags `conflict_type`, `twin` (conflict or consistent) and `part`
        (calibration or test). A twin has the id of its conflict with `-consistent` after it.

    Raises:
        UserError: for a faulty instance, one that has no twin, or fewer than two groups.
    """
    module = plugins.load("conflict", conflict_type)
    conflicts = contextconflict.load(path, conflict_type=conflict_type)
    calibration = _calibration_groups(conflicts, calibration_share, seed=seed)
    if not calibration:
        raise UserError(f"{path}: a split needs instances of two or more groups")
    examples = []
    for conflict in conflicts:
        consistent = module.consistent_twin(conflict)
        pair = {
            "conflict": conflict,
            "consistent": replace(consistent, id=f"{conflict.id}-consistent"),
        }
        part = "calibration" if conflict.group in calibration else "test"
        for twin, example in pair.items():
            facts = {"conflict_type": conflict_type, "twin": twin, "part": part}
            examples.append(replace(example, tags={**example.tags, **facts}))
    return examples


def _calibration_groups(conflicts: Sequence[Example], share: float, *, seed: int) -> frozenset[str]:
    """Groups ranked by a digest and cut where the share of instances is nearest to the wanted.

    Both parts get at least one group; empty where there is but one.
    """
    sizes = Counter(example.group for example in conflicts)
    ranked = sorted(
        sizes, key=lambda group: hashlib.sha256(f"{seed}\n{group}".encode()).hexdigest()
    )
    wanted = share * len(conflicts)
    totals = list(accumulate(sizes[group] for group in ranked))[:-1]
    if not totals:
        return frozenset()
    cut = min(range(len(totals)), key=lambda index: abs(totals[index] - wanted))
    return frozenset(ranked[: cut + 1])
