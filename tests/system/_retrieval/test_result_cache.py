"""The cache of embeddings and scores: shared, checked, and never the end of a run."""

from __future__ import annotations

import logging
import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from runner.system._retrieval.result_cache import FILE, ResultCache, key

ONE, TWO = key("m", "k", "one"), key("m", "k", "two")


def test_a_key_tells_its_parts_apart() -> None:
    keys = {
        key("m", "k", "ab", "c"),
        key("m", "k", "a", "bc"),
        key("m", "k", "abc"),
        key("mk", "", "abc"),
        key("m", "k", "\ud800"),
        key("m", "k", "?"),
    }
    assert len(keys) == 6


def test_it_outlives_a_process(tmp_path: Path) -> None:
    first = ResultCache(tmp_path)
    first.write({ONE: b"1", TWO: b""})
    first.close()
    second = ResultCache(tmp_path)
    assert second._file is not None
    assert second.read([TWO, ONE, key("m", "k", "three"), ONE]) == {ONE: b"1", TWO: b""}
    second.close()


def test_in_memory_without_a_folder() -> None:
    cache = ResultCache()
    cache.write({ONE: b"1"})
    assert (cache.read([ONE, TWO]), cache._file) == ({ONE: b"1"}, None)


@pytest.mark.parametrize("broken", [False, True])
def test_memory_is_bounded_and_the_latest_used_stay(broken: bool, tmp_path: Path) -> None:
    if broken:
        (tmp_path / FILE).mkdir()  # no cache can be there
    cache = ResultCache(tmp_path if broken else None, memory_mb=0.1)
    names = [key("m", "k", str(at)) for at in range(1_000)]
    for name in names:  # 1,750 bytes each with what the entry itself takes: 57 fit
        cache.write({name: b"x" * 1_500})
        cache.read([names[0]])
    held = cache.read(names)
    assert set(held) == {names[0], *names[-56:]}
    cache.write(dict.fromkeys(held, b"y" * 1_500))  # what is replaced is not counted twice
    assert len(cache.read(names)) == 57
    cache.write({ONE: b"x" * 200_000})
    assert cache.read([ONE, *names]) == {}  # larger than all that may be held
    cache.close()


def test_many_keys_at_once(tmp_path: Path) -> None:
    cache = ResultCache(tmp_path)
    values = {key("m", "k", str(at)): str(at).encode() for at in range(2_345)}
    cache.write(values)
    assert cache.read(list(values)) == values
    cache.close()


def test_a_damaged_value_is_computed_anew(tmp_path: Path) -> None:
    cache = ResultCache(tmp_path)
    cache.write({ONE: b"good", TWO: b"good"})
    cache.close()
    with sqlite3.connect(tmp_path / FILE) as file:
        file.execute("UPDATE results SET value = CAST(substr(value, 1, 4) || 'evil' AS BLOB) WHERE key = ?", (ONE,))
    file.close()
    again = ResultCache(tmp_path)
    assert again.read([ONE, TWO]) == {TWO: b"good"}
    again.write({ONE: b"better"})
    assert again.read([ONE]) == {ONE: b"better"}
    again.close()


@pytest.mark.parametrize("kind", ["garbage", "directory", "folder is a file"])
def test_what_is_no_cache_falls_back_to_memory(kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "cache"
    if kind == "folder is a file":
        folder.write_text("x")
    else:
        folder.mkdir()
        if kind == "garbage":
            (folder / FILE).write_bytes(b"this is no database, whatever its name says" * 100)
        else:
            (folder / FILE).mkdir()
    with caplog.at_level(logging.WARNING):
        cache = ResultCache(folder)
    cache.write({ONE: b"1"})
    assert (cache.read([ONE]), cache._file) == ({ONE: b"1"}, None)
    assert "keeps its results in memory" in caplog.text
    cache.close()


def test_a_disk_that_fills_falls_back_to_memory(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cache = ResultCache(tmp_path)
    cache.write({ONE: b"1"})
    assert cache._file is not None
    pages = cache._file.execute("PRAGMA page_count").fetchone()[0]
    cache._file.execute(f"PRAGMA max_page_count = {pages}")  # sqlite's own way to run out of room
    with caplog.at_level(logging.WARNING):
        cache.write({key("m", "k", str(at)): b"x" * 4_000 for at in range(50)})
    assert cache._file is None
    assert len(cache.read([key("m", "k", str(at)) for at in range(50)])) == 50
    assert caplog.text.count("keeps its results in memory") == 1


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root writes where it may not")
def test_a_read_only_folder_falls_back_to_memory(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    cache = ResultCache(tmp_path)
    cache.write({ONE: b"1"})
    assert (cache.read([ONE]), cache._file) == ({ONE: b"1"}, None)


def test_processes_and_threads_share_it(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from runner.system._retrieval.result_cache import ResultCache, key\n"
        "cache = ResultCache(Path(sys.argv[1]))\n"
        "for at in range(100): cache.write({key('m', sys.argv[2], str(at)): b'x'})\n"
        "assert cache._file is not None; cache.close()"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name]) for name in ("p", "q")]
    cache = ResultCache(tmp_path)

    def work(name: str) -> None:
        for at in range(50):
            cache.write({key("m", name, str(at)): b"x"})

    threads = [threading.Thread(target=work, args=(name,)) for name in ("s", "t")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [process.wait(60) for process in running] == [0, 0]
    names = [(name, at) for name in "pq" for at in range(100)] + [(name, at) for name in "st" for at in range(50)]
    assert len(cache.read([key("m", name, str(at)) for name, at in names])) == 300
    assert cache._file is not None
    cache.close()
