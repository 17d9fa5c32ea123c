"""A content-addressed cache of what models computed: embeddings and rerank scores.

One sqlite file in WAL mode, safe to share between processes. A cache never fails a run: a folder that cannot be
written, a full disk or a file that is not a database is logged once and the rest of the process works from memory,
where what was not used for longest goes first when it holds too much.
Every value carries a checksum; one that does not match is computed anew.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

log = logging.getLogger(__name__)

FILE = "models.sqlite"
_BATCH = 500  # under sqlite's oldest limit of 999 variables a statement
_BUSY_S = 30.0
MEMORY_MB = 64  # held without a file: about 35,000 vectors of 384 numbers
_OVERHEAD = 250  # bytes an entry takes beside its value: key, objects, links


def key(model_sha256: str, kind: str, *texts: str) -> bytes:
    """Address of one result: model, what was computed of it, and the text, as 32 bytes."""
    sha = hashlib.sha256()
    for part in (model_sha256, kind, *texts):
        data = part.encode("utf-8", "surrogatepass")
        sha.update(len(data).to_bytes(8, "little") + data)
    return sha.digest()


class ResultCache:
    """Keys of 32 bytes to small byte strings. Thread-safe.

    Parameters
    ----------
    folder
        Where the file lives; ``None`` keeps the latest ``memory_mb`` megabytes in memory.
    """

    def __init__(self, folder: Path | None = None, memory_mb: float = MEMORY_MB) -> None:
        self._lock = threading.Lock()
        self._memory: OrderedDict[bytes, bytes] = OrderedDict()
        self._room = self._most = int(memory_mb * 1e6)
        self._file: sqlite3.Connection | None = None
        self.open(folder)

    def open(self, folder: Path | None) -> None:
        """Go on with a file in that folder."""
        with self._lock:
            if folder is None or self._file is not None:
                return
            try:
                folder.mkdir(parents=True, exist_ok=True)
                self._file = _connect(folder / FILE)
            except (OSError, sqlite3.Error) as error:
                self._give_up(error)

    def read(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Values of those keys that are held."""
        with self._lock:
            found = {name: self._memory[name] for name in keys if name in self._memory}
            for name in found:
                self._memory.move_to_end(name)
            missing = [name for name in dict.fromkeys(keys) if name not in found]
            if self._file is not None and missing:
                try:
                    for at in range(0, len(missing), _BATCH):
                        part = missing[at : at + _BATCH]
                        marks = ",".join("?" * len(part))
                        rows = self._file.execute(f"SELECT key, value FROM results WHERE key IN ({marks})", part)
                        found.update((bytes(name), data) for name, data in _intact(rows))
                except sqlite3.Error as error:
                    self._give_up(error)
        return found

    def write(self, values: Mapping[bytes, bytes]) -> None:
        """Keep values; what is already there stays unless it is damaged."""
        if not values:
            return
        with self._lock:
            if self._file is None:
                self._remember(values)
                return
            rows = [(name, zlib.crc32(data).to_bytes(4, "little") + data) for name, data in values.items()]
            try:
                with self._file:
                    self._file.executemany("INSERT OR REPLACE INTO results (key, value) VALUES (?, ?)", rows)
            except sqlite3.Error as error:
                self._give_up(error)
                self._remember(values)

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                self._file.close()
            self._file = None
            self._memory.clear()
            self._room = self._most

    def _remember(self, values: Mapping[bytes, bytes]) -> None:
        for name, data in values.items():
            before = self._memory.pop(name, None)
            self._room += 0 if before is None else len(before) + _OVERHEAD
            self._memory[name] = data
            self._room -= len(data) + _OVERHEAD
        while self._room < 0:
            _, oldest = self._memory.popitem(last=False)
            self._room += len(oldest) + _OVERHEAD

    def _give_up(self, error: Exception) -> None:
        log.warning("the embedding cache cannot be used (%s); this run keeps its results in memory", error)
        if self._file is not None:
            with suppress(sqlite3.Error):
                self._file.close()
        self._file = None


def _intact(rows: Iterable[tuple[bytes, bytes]]) -> Iterable[tuple[bytes, bytes]]:
    for name, value in rows:
        if len(value) >= 4 and zlib.crc32(value[4:]).to_bytes(4, "little") == value[:4]:
            yield name, value[4:]


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_BUSY_S, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS results (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"
        )
        connection.commit()
        connection.execute("SELECT key FROM results LIMIT 1").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection
