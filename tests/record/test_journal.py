"""Journals: what a kill can leave behind, and what must never be repaired."""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path

import pytest

from runner.errors import RecordError
from runner.record.journal import Journal, read, repair
from runner.types import Row


def row(number: int) -> Row:
    return Row(id=f"s/{number}", scenario="s", cluster="s", category="1")


def fill(journal: Journal[Row]) -> None:
    for number in range(100):
        journal.append(row(number))


def write(path: Path, count: int) -> None:
    journal: Journal[Row] = Journal(path)
    for number in range(count):
        journal.append(row(number))
    journal.close()


def test_every_line_is_there_before_close(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    journal: Journal[Row] = Journal(path)
    journal.append(row(0))
    assert [r.id for r in read(path, Row)] == ["s/0"]
    journal.close()


@pytest.mark.parametrize("cut", [1, 2, 10, 30])
def test_a_torn_last_line_is_dropped_and_nothing_else(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "rows.jsonl"
    write(path, 3)
    size = path.stat().st_size
    os.truncate(path, size - cut)
    assert [r.id for r in read(path, Row)] == ["s/0", "s/1"]
    length = len(path.read_bytes().splitlines(keepends=True)[-1])
    assert repair(path) == length
    write(path, 1)
    assert [r.id for r in read(path, Row)] == ["s/0", "s/1", "s/0"]


def test_repair_of_a_file_without_any_newline(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"x" * 200_000)
    assert repair(path) == 200_000
    assert path.stat().st_size == 0
    assert repair(tmp_path / "absent.jsonl") == 0


@pytest.mark.parametrize(
    "line", [b"garbage\n", b'{"id": 3}\n', b'{"id":"a"}\n', b"\xff\xfe\n", b"[]\n", b"\n"], ids=repr
)
def test_damage_in_the_middle_is_an_error_that_names_the_line(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "rows.jsonl"
    write(path, 1)
    with path.open("ab") as file:
        file.write(line)
    write(path, 1)
    with pytest.raises(RecordError, match=r"rows\.jsonl:2: not"):
        list(read(path, Row))


def test_a_full_disk_is_told_and_keeps_what_is_finished(tmp_path: Path) -> None:
    """A file-size limit stands in for a full disk: the write fails in the same place."""
    path = tmp_path / "rows.jsonl"
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    journal: Journal[Row] = Journal(path)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
        with pytest.raises(RecordError, match="cannot be written"):
            fill(journal)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
        journal.close()
    kept = [r.id for r in read(path, Row)]
    assert kept == [f"s/{number}" for number in range(len(kept))]
    assert len(kept) > 5
    assert path.read_bytes().endswith(b"\n")  # nothing torn, so that what is written later stands on its own line
    write(path, 1)
    assert [r.id for r in read(path, Row)] == [*kept, "s/0"]
