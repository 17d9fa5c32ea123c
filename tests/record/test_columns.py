"""Columns of rows: what a gate reads, and the cache of large runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from runner.record import column_cache
from runner.record.columns import columns
from runner.record.rundir import RunDir
from tests.support.recorded import answered, arm_config, write_run


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunDir:
    monkeypatch.setenv("MEMORY_RUNNER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(column_cache, "WORTH", 1)
    rows = [
        answered(0, True, labels=("CORRECT", "WRONG", "CORRECT"), metrics={"mrr": 0.5}),
        answered(1, False, labels=("WRONG", "judge_error", "WRONG")),
        answered(2, True, metrics={"mrr": None}),
    ]
    return RunDir(write_run(tmp_path / "run", rows, arm=arm_config("a")))


def test_share_is_over_valid_repeats(run: RunDir) -> None:
    data = columns(run, ["mrr"])
    assert data.share[:2].tolist() == [pytest.approx(2 / 3), 0.0]
    assert np.isnan(data.share[2])
    assert data.repeated.tolist() == [True, True, False]


def test_a_second_reading_comes_from_the_cache_and_is_the_same(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    first = columns(run, ["mrr"])
    monkeypatch.setattr("runner.record.columns._read", lambda *_: pytest.fail("read the rows again"))
    second = columns(run, ["mrr"])
    for name, value in vars(first).items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(getattr(second, name), value)
        elif name != "values":
            assert getattr(second, name) == value
    np.testing.assert_array_equal(second.values["mrr"], first.values["mrr"])


def test_other_rows_or_metrics_are_read_anew(run: RunDir) -> None:
    columns(run, ["mrr"])
    assert not columns(run, []).values
    text = run.rows_path.read_text()
    run.rows_path.write_text(text.replace("0.5", "0.9"))  # of the same length
    assert columns(run, ["mrr"]).values["mrr"][0] == 0.9


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 no archive", b"\x00" * 300])
def test_a_damaged_cache_is_passed_over(run: RunDir, tmp_path: Path, damage: bytes) -> None:
    expected = columns(run, ["mrr"]).digest
    (kept,) = (tmp_path / "cache" / "columns").iterdir()
    kept.write_bytes(damage)
    assert columns(run, ["mrr"]).digest == expected
    assert columns(run, ["mrr"]).digest == expected  # mended


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(run: RunDir, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    assert len(columns(run, ["mrr"])) == 3


def test_the_oldest_go_when_there_is_no_room(run: RunDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns(run, [])
    monkeypatch.setattr(column_cache, "_ROOM", 1)
    columns(run, ["mrr"])
    assert len(list((tmp_path / "cache" / "columns").iterdir())) == 1
