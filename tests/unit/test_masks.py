import pytest

from ctxaudit.ablation.masks import all_masks


@pytest.mark.parametrize("num_sources", range(8))
def test_all_masks_are_every_subset_once_from_empty_to_full(num_sources):
    masks = all_masks(num_sources)
    assert masks.shape == (2**num_sources, num_sources)
    assert len({tuple(mask) for mask in masks}) == 2**num_sources
    assert not masks[0].any()
    assert masks[-1].all()
