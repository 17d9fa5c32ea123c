"""The directory of a run: who owns it, what is in it, how it is read back.

::

    config.yaml       resolved, secrets refused         instrument.json  what must match
    rows.jsonl        one line per finished question    texts.jsonl      its hits, context and answers
    calls.jsonl       one line per finished model call  provenance.json  commit, versions, platform, times
    summary.json      metrics by category, state        run.log          detail for a bug report
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from runner.config import Experiment, load
from runner.errors import ConfigError, RecordError, UsageError
from runner.plain_yaml import plain_yaml
from runner.record import files, journal, signature
from runner.safe import masked
from runner.types import Call, Row, Texts

FORMAT: Final = 1  # of the directory; a reader refuses any other
JOURNALS: Final = ("rows.jsonl", "texts.jsonl", "calls.jsonl", "ingest.jsonl")


class RunDir:
    """A run directory by its path; reading needs no lock."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None

    @property
    def config_path(self) -> Path:
        return self.path / "config.yaml"

    @property
    def rows_path(self) -> Path:
        return self.path / "rows.jsonl"

    @property
    def texts_path(self) -> Path:
        return self.path / "texts.jsonl"

    @property
    def calls_path(self) -> Path:
        return self.path / "calls.jsonl"

    @property
    def log_path(self) -> Path:
        return self.path / "run.log"

    # --- ownership -------------------------------------------------------------------------------------------------

    def claim(self) -> None:
        """Become the only process that writes here, until :meth:`release` or the end of the process.

        Raises
        ------
        RecordError
            When the directory cannot be written or another process owns it.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path / "lock", os.O_CREAT | os.O_RDWR, 0o644)
        except OSError as error:
            raise RecordError(
                f"{self.path}: cannot be written ({error.strerror}); choose another place with hydra.run.dir=DIR "
                f"(a sweep: hydra.sweep.dir=DIR)"
            ) from None
        try:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # a platform without flock keeps the check of `create` alone
            pass
        except OSError:
            os.close(handle)
            raise RecordError(f"{self.path}: another process is running in it; wait for it or start again") from None
        self._lock = handle

    def release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def create(self, config: Mapping[str, Any], cache: Path | None = None) -> None:
        """Claim a directory for a new run, write its config and seal it with the key that lies in ``cache``.

        Raises
        ------
        RecordError
            When it already holds a run.
        """
        self.claim()
        if self.config_path.exists():
            self.release()
            raise RecordError(
                f"{self.path}: already holds a run; finish it with: python -m runner resume {self.path} "
                f"— or start again elsewhere"
            )
        text = yaml.dump(dict(config), Dumper=_Plain, sort_keys=False, allow_unicode=True)
        self.write_text("config.yaml", text)
        if cache is not None:
            self.write_text(signature.NAME, signature.seal_of(text.encode(), cache) or "")

    def sealed(self, cache: Path) -> bool:
        """Return whether the config is still the one that this person's runner wrote."""
        try:
            return signature.is_sealed(self.path, self.config_path.read_bytes(), cache)
        except OSError:
            return False

    # --- writing ---------------------------------------------------------------------------------------------------

    def write_text(self, name: str, text: str) -> None:
        """Write a derived file whole: a reader sees the old one or the new one, never half.

        Raises
        ------
        RecordError
            When the disk does not take it.
        """
        target = self.path / name
        partial = self.path / f".{name}.partial"
        try:
            with partial.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(target)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise RecordError(f"{target}: cannot be written ({error.strerror})") from None

    def write_json(self, name: str, value: object) -> None:
        """Write a value, or a struct, as an indented JSON file with credentials masked.

        Raises
        ------
        RecordError
            When the disk does not take it.
        """
        plain = msgspec.to_builtins(value) if isinstance(value, msgspec.Struct) else value
        self.write_text(name, json.dumps(masked(plain), indent=2, ensure_ascii=False, allow_nan=False) + "\n")

    def write_summary(
        self, figures: files.Figures, state: str, reason: str = "", decided: Mapping[str, int | float] | None = None
    ) -> None:
        """Write ``summary.json``; ``decided`` are the numbers of an arm that was decided early, and of no other.

        Raises
        ------
        RecordError
            When the disk does not take it.
        """
        early = {"decided": decided} if decided is not None else {}
        self.write_json("summary.json", {"state": state, "reason": reason, **early, **figures.to_dict()})

    # --- reading ---------------------------------------------------------------------------------------------------

    def raw_config(self) -> dict[str, Any]:
        """Return the recorded config as plain data.

        Raises
        ------
        RecordError
            When it is not plain YAML (:mod:`runner.plain_yaml`).
        UsageError
            When there is none.
        """
        try:
            text = self.config_path.read_text(encoding="utf-8")
            value = plain_yaml(text)
        except FileNotFoundError:
            raise UsageError(f"{self.path}: not a run directory (no config.yaml)") from None
        except OSError as error:
            raise RecordError(f"{self.config_path}: cannot be read ({error.strerror})") from None
        except ValueError as error:
            raise RecordError(f"{self.config_path}: not plain YAML ({error})") from None
        if not isinstance(value, dict):
            raise RecordError(f"{self.config_path}: not a mapping")
        return value

    def experiment(self) -> Experiment:
        """Return the recorded config, checked.

        Raises
        ------
        RecordError
            When this version cannot read it.
        """
        try:
            return load(self.raw_config())
        except ConfigError as error:
            told = "; ".join(error.problems)
            raise RecordError(f"{self.config_path}: not a config that this version wrote ({told})") from None

    def read_json(self, name: str) -> dict[str, Any]:
        """Return a JSON object of the run, empty when it is not there yet.

        Raises
        ------
        RecordError
            When it is damaged.
        """
        return files.decode(self.path / name, dict[str, Any]) or {}

    def instrument(self) -> files.Instrument:
        """Return the recorded instrument, checked.

        Raises
        ------
        RecordError
            When the run is of another format, damaged, or never got that far.
        """
        value = self.read_json("instrument.json")
        if value and value.get("format") != FORMAT:
            raise RecordError(
                f"{self.path}: recorded in format {value.get('format')!r}, this version reads format {FORMAT}; "
                f"use the version that wrote it ({value.get('runner', 'unknown')}) or run it again"
            )
        instrument = files.decode(self.path / "instrument.json", files.Instrument) if value else None
        if instrument is None:
            why = str(self.read_json("failure.json").get("reason", "")) or "run it again"
            raise RecordError(f"{self.path}: has no instrument.json: the run never started ({why})")
        return instrument

    def provenance(self) -> files.RunProvenance:
        """Return the recorded provenance, empty when there is none yet.

        Raises
        ------
        RecordError
            When it is damaged.
        """
        return files.provenance_from(self.read_json("provenance.json"))

    def summary(self) -> files.Summary | None:
        """Return the recorded summary; ``None`` without one, or with one that is damaged: it can be made again."""
        try:
            return files.decode(self.path / "summary.json", files.Summary)
        except RecordError:
            return None

    def current_summary(self) -> files.Summary | None:
        """Return the recorded summary while it still is one of the rows on disk, else ``None``."""
        summary = self.summary()
        try:
            size = self.rows_path.stat().st_size
        except OSError:
            return None
        return summary if summary is not None and summary.rows_bytes == size else None

    def finished(self) -> bool:
        """Return whether nothing is left to do, told from the files alone."""
        summary = self.current_summary()
        return summary is not None and summary.state == "complete" and summary.left == 0

    def decided(self) -> str:
        """Return why a watched arm stopped before its end, and needs no more questions; empty when it did not."""
        summary = self.current_summary()
        return summary.reason if summary is not None and summary.state == "decided" else ""

    def repair(self) -> int:
        """Drop torn last lines before a resume writes on, and return how many bytes were dropped."""
        return sum(journal.repair(self.path / name) for name in JOURNALS)

    def rows(self) -> Iterator[Row]:
        return journal.read(self.rows_path, Row)

    def texts(self) -> Iterator[Texts]:
        return journal.read(self.texts_path, Texts)

    def calls(self) -> Iterator[Call]:
        return journal.read(self.calls_path, Call)


# Writes a value that stands twice twice, without aliases.
_Plain: Any = type("_Plain", (yaml.SafeDumper,), {"ignore_aliases": lambda *_: True})


def is_run(path: Path) -> bool:
    return (path / "config.yaml").is_file()


def runs_under(path: Path) -> list[RunDir]:
    """Return the runs of a sweep directory in job order; of a run, the run itself.

    Raises
    ------
    UsageError
        When the directory cannot be read.
    """
    if is_run(path):
        return [RunDir(path)]

    def number(folder: Path) -> tuple[int, str]:
        head = folder.name.split("-", 1)[0]
        return (int(head), folder.name) if head.isdigit() else (1 << 30, folder.name)

    try:
        folders = [folder for folder in path.iterdir() if folder.is_dir() and is_run(folder)]
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    return [RunDir(folder) for folder in sorted(folders, key=number)]
