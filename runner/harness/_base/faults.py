"""Faults of a benchmark's data or code, each as one line that names the benchmark and what to type next."""

from __future__ import annotations

import logging
import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from runner.errors import ConfigError, DatasetError, MissingExtra, Remedy, RunnerError

log = logging.getLogger("runner")

_SHOWN: Final = 160  # characters of what an exception says
_RUNNER: Final = Path(__file__).resolve().parents[2]
_LIBRARIES: Final = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
_ADVICE: Final = {
    Remedy.AGAIN: "; download it again, or give another copy with harness.dataset.path=FILE",
    Remedy.MENDED: "; export it again as UTF-8, mended, or give another copy with harness.dataset.path=FILE",
    Remedy.OTHER: "; give another copy with harness.dataset.path=FILE",
    Remedy.FOREIGN: " (harness.dataset.path=FILE names another copy)",
    Remedy.READABLE: "; make it readable, or give another copy with harness.dataset.path=FILE",
    Remedy.STATED: "",
}


@contextmanager
def own_code(name: str, step: str) -> Iterator[None]:
    """Turn an exception of a harness's own code into one line with its place.

    Raises
    ------
    ConfigError
        In place of anything but a :class:`RunnerError`.
    """
    try:
        yield
    except RunnerError:
        raise
    except Exception as error:
        if log.hasHandlers():  # a run's log; without one, logging would print the traceback to a person
            log.exception("harness %s: %s", name, step)
        message = " ".join(str(error).split())[:_SHOWN]
        raise ConfigError(
            [f"harness '{name}': {step} failed: {type(error).__name__}: {message} ({place_of(error)})"]
        ) from error


def advised(error: DatasetError) -> str:
    """Return a fault of a benchmark's data with what to type next behind it."""
    return f"{error}{_ADVICE[error.remedy]}"


@contextmanager
def faults_of(name: str) -> Iterator[None]:
    """Name the benchmark before whatever is wrong with its data, and say what to type; once, however often entered.

    The readers below know neither: :mod:`runner.data` serves imports as well.

    Raises
    ------
    DatasetError, MissingExtra
        As they were raised, with name and advice; a :class:`DatasetError` in place of a file that cannot be opened.
    """
    try:
        yield
    except MissingExtra as error:
        if error.what.startswith("harness "):
            raise
        raise MissingExtra(f"harness '{name}' ({error.what})", error.extra) from None
    except DatasetError as error:
        if str(error).startswith(f"{name}: "):
            raise
        raise DatasetError(f"{name}: {advised(error)}") from error.__cause__
    except OSError as error:
        if not isinstance(error.filename, str):
            raise
        raise DatasetError(f"{name}: {_unopened(error)}") from error


def _unopened(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return (
            f"there is no file {error.filename} (looked in {Path.cwd()}); check the path, or name another with "
            "harness.dataset.path=FILE"
        )
    return f"{error.filename} cannot be opened ({error.strerror}){_ADVICE[Remedy.READABLE]}"


def place_of(error: BaseException) -> str:
    """Return file and line where an exception arose: in a person's own code, else in the runner's, else a library's."""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return "unknown place"
    runners = [frame for frame in frames if Path(frame.filename).is_relative_to(_RUNNER)]
    own = [frame for frame in frames if frame not in runners and not _is_library(frame.filename)]
    last = (own or runners or frames)[-1]
    return f"{Path(last.filename).name}:{last.lineno}"


def _is_library(filename: str) -> bool:
    return filename.startswith("<") or any(Path(filename).is_relative_to(folder) for folder in _LIBRARIES)
