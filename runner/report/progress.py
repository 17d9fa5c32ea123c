"""Progress of a run under way: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any

from runner.experiment.session import Observer
from runner.types import OK, Row

_EVERY_S = 10.0  # between plain lines


def observer(arm: str, what: str = "questions") -> Observer:
    """Return a bar for a terminal, lines for everything else. ``what`` is counted, in words."""
    return Bar(arm) if sys.stderr.isatty() else Lines(arm, what)


def _spend(usd: float) -> str:
    return f" · ${usd:.4f}" if usd else ""


class Lines:
    """Print a line every ten seconds and one at the end."""

    def __init__(self, arm: str, what: str = "questions") -> None:
        self._arm = arm
        self._what = what
        self._total = self._done = self._failed = self._fresh = 0
        self._usd = 0.0
        self._began = self._told = time.monotonic()

    def begin(self, total: int, done: int) -> None:
        self._total, self._done = total, done
        self._began = self._told = time.monotonic()
        if done:
            print(f"{self._arm}: {done} of {total} {self._what} are recorded already", file=sys.stderr, flush=True)

    def row(self, row: Row, usd: float) -> None:
        self._done += 1
        self._fresh += 1
        self._failed += row.status != OK
        self._usd = usd
        if time.monotonic() - self._told >= _EVERY_S:
            self._told = time.monotonic()
            self._line()

    def note(self, text: str) -> None:
        print(f"{self._arm}: {text}", file=sys.stderr, flush=True)

    def end(self) -> None:
        self._line()

    def _line(self) -> None:
        seconds = max(time.monotonic() - self._began, 1e-9)
        rate = self._fresh / seconds
        left = f" · {(self._total - self._done) / rate:.0f} s left" if rate and self._done < self._total else ""
        failed = f" · {self._failed} failed" if self._failed else ""
        print(
            f"{self._arm}: {self._done}/{self._total} {self._what}{failed} · {rate:.1f}/s{left}{_spend(self._usd)}",
            file=sys.stderr,
            flush=True,
        )


class Bar:
    """Show a progress bar: done, failed, rate, time left, spend."""

    def __init__(self, arm: str) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        from runner.report.console import error_console

        self._arm = arm
        self._failed = self._fresh = 0
        self._began = time.monotonic()
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[extra]}", markup=False),
            TimeRemainingColumn(),
            console=error_console(),
            refresh_per_second=5,
        )
        self._task: Any = None

    def begin(self, total: int, done: int) -> None:
        self._began = time.monotonic()
        self._task = self._bar.add_task(self._arm, total=total, completed=done, extra="")
        self._bar.start()

    def row(self, row: Row, usd: float) -> None:
        self._fresh += 1
        self._failed += row.status != OK
        rate = self._fresh / max(time.monotonic() - self._began, 1e-9)
        failed = f" · {self._failed} failed" if self._failed else ""
        self._bar.update(self._task, advance=1, extra=f"{rate:.1f}/s{failed}{_spend(usd)}")

    def note(self, text: str) -> None:
        self._bar.console.print(f"{self._arm}: {text}")

    def end(self) -> None:
        self._bar.stop()
