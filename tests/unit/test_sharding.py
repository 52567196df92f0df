import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxaudit import sharding
from ctxaudit.ablation.masks import all_masks
from ctxaudit.artifacts import records, subset_scores
from ctxaudit.interface import Ablations, Response


@given(st.lists(st.integers(), max_size=40), st.integers(1, 12))
def test_shards_are_a_partition_in_order_and_nearly_equal_in_size(items, num_shards):
    parts = [sharding.take(items, name) for name in sharding.names(num_shards)]
    assert [item for part in parts for item in part] == items
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def ablations(number, num_sources):
    draw = np.random.default_rng(number)
    masks = all_masks(num_sources)
    return Ablations(
        example_id=f"q{number}",
        masks=masks,
        logprobs=draw.normal(size=(len(masks), 2 + number % 3)).astype(np.float32).astype(float),
        has_end_token=True,
    )


@pytest.mark.parametrize("num_shards", [1, 2, 3, 9])
def test_gathered_ablations_are_the_ones_written_at_once(tmp_path, num_shards):
    items = [ablations(number, num_sources=2 + number % 2) for number in range(5)]
    paths = [tmp_path / f"{name}.parquet" for name in sharding.names(num_shards)]
    for name, path in zip(sharding.names(num_shards), paths, strict=True):
        subset_scores.write_ablations(path, sharding.take(items, name))
    sharding.gather(paths, tmp_path / "gathered.parquet")
    subset_scores.write_ablations(tmp_path / "whole.parquet", items)
    whole, gathered = (pd.read_parquet(tmp_path / f"{n}.parquet") for n in ("whole", "gathered"))
    pd.testing.assert_frame_equal(gathered, whole)
    for found, item in zip(
        subset_scores.read_ablations(tmp_path / "gathered.parquet"), items, strict=True
    ):
        assert found.example_id == item.example_id
        np.testing.assert_array_equal(found.logprobs, item.logprobs)


def test_shards_without_rows_give_a_table_without_rows(tmp_path):
    paths = [tmp_path / f"{name}.parquet" for name in sharding.names(2)]
    for path in paths:
        subset_scores.write_ablations(path, [])
    sharding.gather(paths, tmp_path / "gathered.parquet")
    assert pq.read_table(tmp_path / "gathered.parquet").num_rows == 0


def test_gathered_responses_are_in_the_order_of_the_shards(tmp_path):
    items = [Response(example_id=f"q{n}", text="ü\n\u2028", finish="stop") for n in range(5)]
    paths = [tmp_path / f"{name}.jsonl" for name in sharding.names(3)]
    for name, path in zip(sharding.names(3), paths, strict=True):
        records.write_responses(path, sharding.take(items, name))
    sharding.gather(paths, tmp_path / "gathered.jsonl")
    assert list(records.read_responses(tmp_path / "gathered.jsonl")) == items
