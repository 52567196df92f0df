import logging
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from ctxaudit.ablation import store as module
from ctxaudit.ablation.store import ScoreStore
from ctxaudit.errors import UserError

SCORER = "a" * 64


def _fill(folder, scorer, prompts):
    with ScoreStore(folder, scorer) as store:
        for prompt in prompts:
            store.put(store.key(prompt, [1]), _score(prompt))


def _fill_and_fail(folder):
    with ScoreStore(folder, SCORER) as store:
        store.put(store.key([1], [1]), _score([1]))
        raise KeyboardInterrupt


def _score(prompt):
    return np.array([-float(sum(prompt)), -0.5], dtype=np.float32)


def test_scores_come_back_bit_for_bit(tmp_path):
    values = {(1,): [-1.1], (2, 3): [], (4,): [-0.3, -float("inf"), -7e-9]}
    with ScoreStore(tmp_path, SCORER) as store:
        for prompt, value in values.items():
            store.put(store.key(prompt, [9]), np.array(value, dtype=np.float32))
    with ScoreStore(tmp_path, SCORER) as store:
        found = store.get([store.key(prompt, [9]) for prompt in values])
        assert store.get([store.key([5], [9])]) == [None]
    for got, expected in zip(found, values.values(), strict=True):
        np.testing.assert_array_equal(got, np.array(expected, dtype=np.float32))


def test_key_tells_scorer_and_border_of_prompt_and_response_apart(tmp_path):
    one, other = ScoreStore(tmp_path, SCORER), ScoreStore(tmp_path, "b" * 64)
    keys = {
        one.key([1, 2], [3]),
        one.key([1], [2, 3]),
        one.key([1, 2, 3], []),
        other.key([1, 2], [3]),
    }
    assert len(keys) == 4


def test_scorers_with_a_common_beginning_do_not_mix(tmp_path):
    similar = SCORER[:-1] + "b"
    _fill(tmp_path, SCORER, [(1,)])
    with ScoreStore(tmp_path, similar) as store:
        assert store.get([store.key([1], [1])]) == [None]


def test_many_writers_share_a_folder(tmp_path):
    shares = [[(writer, number) for number in range(20)] for writer in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda share: _fill(tmp_path, SCORER, share), shares))
    prompts = [prompt for share in shares for prompt in share]
    with ScoreStore(tmp_path, SCORER) as store:
        for prompt, got in zip(
            prompts, store.get([store.key(p, [1]) for p in prompts]), strict=True
        ):
            np.testing.assert_array_equal(got, _score(prompt))


def test_torn_and_foreign_segments_are_skipped_with_a_warning(tmp_path, caplog):
    _fill(tmp_path, SCORER, [(1,)])
    (segment,) = tmp_path.rglob("*.parquet")
    segment.with_name("torn.parquet").write_bytes(segment.read_bytes()[:-20])
    pd.DataFrame({"key": ["x"]}).to_parquet(segment.with_name("foreign.parquet"))
    segment.with_name(".half.parquet.0a").write_bytes(b"being written")
    with caplog.at_level(logging.WARNING), ScoreStore(tmp_path, SCORER) as store:
        assert store.get([store.key([1], [1])])[0] is not None
    skipped = " ".join(record.getMessage() for record in caplog.records)
    assert len(caplog.records) == 2
    assert "torn.parquet" in skipped
    assert "foreign.parquet" in skipped


def test_a_killed_writer_loses_only_what_was_not_flushed(tmp_path):
    killed = ScoreStore(tmp_path, SCORER).__enter__()
    killed.put(killed.key([1], [1]), _score([1]))
    killed.flush()
    killed.put(killed.key([2], [1]), _score([2]))
    assert killed.get([killed.key([2], [1])])[0] is not None
    with ScoreStore(tmp_path, SCORER) as store:
        first, second = store.get([store.key([1], [1]), store.key([2], [1])])
    assert first is not None
    assert second is None


def test_an_error_in_the_block_keeps_what_was_put(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        _fill_and_fail(tmp_path)
    with ScoreStore(tmp_path, SCORER) as store:
        assert store.get([store.key([1], [1])])[0] is not None


def test_segments_are_written_by_themselves_when_enough_is_pending(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_MAX_PENDING", 3)
    store = ScoreStore(tmp_path, SCORER).__enter__()
    for number in range(7):
        store.put(store.key([number], [1]), _score([number]))
    assert len(list(tmp_path.rglob("*.parquet"))) == 2


def test_a_lost_folder_is_an_empty_store(tmp_path):
    _fill(tmp_path, SCORER, [(1,)])
    shutil.rmtree(tmp_path / SCORER[:16])
    with ScoreStore(tmp_path, SCORER) as store:
        assert store.get([store.key([1], [1])]) == [None]


def test_what_waited_long_is_written_without_being_asked(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("ctxaudit.ablation.store.time.monotonic", lambda: now[0])
    with ScoreStore(tmp_path, "s" * 64) as store:
        store.put(store.key([1], [2]), np.zeros(1, dtype=np.float32))
        assert not list(tmp_path.rglob("*.parquet"))
        now[0] = 21.0
        store.put(store.key([1], [3]), np.zeros(1, dtype=np.float32))
        assert len(list(tmp_path.rglob("*.parquet"))) == 1


def test_a_full_disk_is_said_in_one_sentence(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ctxaudit.ablation.store.pq.write_table", refuse)
    store = ScoreStore(tmp_path, "s" * 64)
    store.put(store.key([1], [2]), np.zeros(1, dtype=np.float32))
    with pytest.raises(UserError, match="scores cannot be written: No space left on device"):
        store.flush()
    with pytest.raises(KeyError), store:
        raise KeyError("the error to show")
