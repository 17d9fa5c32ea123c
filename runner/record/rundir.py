"""One run's directory: who owns it, what is in it, how it is read back.

::

    config.yaml       resolved, secrets refused         instrument.json  what must match
    rows.jsonl        one line a finished question      texts.jsonl      its hits, context and answers
    calls.jsonl       one line a finished model call    provenance.json  commit, versions, platform, times
    summary.json      metrics by category, state        run.log          detail for a bug report
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from runner.config import Experiment, load
from runner.errors import RecordError, UsageError
from runner.record import journal
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

    def create(self, config: Mapping[str, Any]) -> None:
        """Claim a directory for a new run and write its config.

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
        self.write_text("config.yaml", yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True))

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
        self.write_text(name, json.dumps(masked(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n")

    # --- reading ---------------------------------------------------------------------------------------------------

    def finished(self) -> bool:
        """Whether nothing is left to do, told from the files alone."""
        return self.read_json("summary.json").get("state") == "complete"

    def raw_config(self) -> dict[str, Any]:
        """The recorded config as plain data.

        Raises
        ------
        RecordError
            When it is absent or not plain YAML.
        """
        try:
            value = yaml.load(self.config_path.read_text(encoding="utf-8"), Loader=_loader())
        except FileNotFoundError:
            raise UsageError(f"{self.path}: not a run directory (no config.yaml)") from None
        except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
            raise RecordError(f"{self.config_path}: not plain YAML ({type(error).__name__})") from None
        if not isinstance(value, dict):
            raise RecordError(f"{self.config_path}: not a mapping")
        return value

    def experiment(self) -> Experiment:
        return load(self.raw_config())

    def read_json(self, name: str) -> dict[str, Any]:
        """A JSON file of the run, empty when it is not there yet.

        Raises
        ------
        RecordError
            When it is damaged or of another format.
        """
        path = self.path / name
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            raise RecordError(f"{path}: cannot be read ({type(error).__name__})") from None
        if not isinstance(value, dict):
            raise RecordError(f"{path}: not an object")
        return value

    def instrument(self) -> dict[str, Any]:
        """The recorded instrument, checked for its format.

        Raises
        ------
        RecordError
            When the run is of another format or never got that far.
        """
        value = self.read_json("instrument.json")
        if not value:
            raise RecordError(f"{self.path}: has no instrument.json: the run never started; run it again")
        if value.get("format") != FORMAT:
            raise RecordError(
                f"{self.path}: recorded in format {value.get('format')!r}, this version reads format {FORMAT}; "
                f"use the version that wrote it ({value.get('runner', 'unknown')}) or run it again"
            )
        rows, about = value.get("rows"), value.get("harness")
        if not isinstance(rows, dict) or not isinstance(about, dict):
            raise RecordError(f"{self.path / 'instrument.json'}: not an instrument")
        return value

    def repair(self) -> int:
        """Drop torn last lines before a resume writes on; bytes dropped."""
        return sum(journal.repair(self.path / name) for name in JOURNALS)

    def rows(self) -> Any:
        return journal.read(self.rows_path, Row)

    def texts(self) -> Any:
        return journal.read(self.texts_path, Texts)

    def calls(self) -> Any:
        return journal.read(self.calls_path, Call)


def _loader() -> Any:
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def is_run(path: Path) -> bool:
    return (path / "config.yaml").is_file()


def runs_under(path: Path) -> list[RunDir]:
    """The runs of a sweep directory, in job order."""
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
