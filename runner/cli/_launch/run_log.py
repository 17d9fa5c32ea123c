"""The log of a run, and the note of one that failed."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from runner.errors import RunnerError
from runner.record.rundir import RunDir
from runner.safe import mask, printable


@contextmanager
def logged(run: RunDir) -> Iterator[None]:
    """Write the details of one run into its run.log, without secrets."""

    class Masked(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return mask(super().format(record))

    logging.raiseExceptions = False  # a full disk must not print a traceback a line; the run says it once
    root = logging.getLogger()
    try:
        handler: logging.Handler = logging.FileHandler(run.log_path, encoding="utf-8", errors="backslashreplace")
    except OSError:
        handler = logging.NullHandler()
    handler.setFormatter(Masked("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    handler.setLevel(logging.INFO)
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    quiet = [logging.getLogger(name) for name in ("httpx", "httpx2", "openai", "asyncio", "bm25s")]
    for logger in quiet:
        logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
        with suppress(OSError):  # a full disk
            handler.close()


_shown_reasons: set[str] = set()


def note_failure(run: RunDir, error: RunnerError) -> None:
    """Say that a job of a sweep failed, on the terminal and in its directory; the sweep goes on."""
    for line in str(error).splitlines():
        if line in _shown_reasons:  # every job of a sweep fails for the same reason: say it once
            continue
        _shown_reasons.add(line)
        print(f"error: {run.path.name}: {printable(mask(line))}", file=sys.stderr)
    try:
        run.path.mkdir(parents=True, exist_ok=True)
        run.write_json("failure.json", {"reason": str(error), "exit_code": error.exit_code})
    except (OSError, RunnerError):
        logging.getLogger("runner").warning("the failure of %s could not be written down", run.path)


def remove_if_empty(path: Path) -> None:
    """Remove the folder of a run that never started, and the one above, where they are empty."""
    for folder in (path, path.parent):
        try:
            folder.rmdir()
        except OSError:
            return
