"""One session of one run: journals, budget, a way to stop, and a watch over all of them.

Subclasses decide what is asked: :class:`~runner.experiment.run_loop.QuestionLoop` asks a memory and its reader,
:class:`~runner.experiment.regrade.Regrading` another judge about answers that are recorded.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from msgspec.structs import replace

from runner.config import RunConfig
from runner.early_stop.watch import WatchedArm
from runner.errors import RunnerError, Stopped
from runner.experiment.model_calls import Ledger
from runner.experiment.spend import Spend
from runner.experiment.stop import StopFlag, StopRequested
from runner.llm import Model
from runner.record.journal import Journal
from runner.record.rundir import RunDir
from runner.types import JUDGE_UNPARSEABLE, OK, Call, Row, Texts

log = logging.getLogger("runner")
T = TypeVar("T")

_SILENT_S = 30.0  # without a finished question, after which a person is told what it may be waiting for


class Observer(Protocol):
    """A watcher of a run: a progress bar, or nothing."""

    def begin(self, total: int, done: int) -> None: ...

    def row(self, row: Row, usd: float) -> None: ...

    def note(self, text: str) -> None: ...

    def end(self) -> None: ...


class RunSession:
    """Ask what is left of a run.

    Parameters
    ----------
    total
        Questions of the whole run, those of earlier sessions included.
    retry_errors
        Ask again what failed.
    """

    def __init__(
        self, run: RunDir, config: RunConfig, total: int, observer: Observer, *, retry_errors: bool = False
    ) -> None:
        self._run = run
        self._config = config
        self._total = total
        self._observer = observer
        self._retry_errors = retry_errors
        self._stop = StopFlag(config.stop_after_errors)
        self._ledger = Ledger(Spend(config), self._stop)
        self._done: set[str] = set()
        self._interrupts = 0
        self._last_progress = time.monotonic()
        self._main: asyncio.Task[None] | None = None
        self.watching: WatchedArm | None = None  # of an arm that stops when it is decided against the baseline

    # --- what a subclass writes ---------------------------------------------------------------------------------------

    def _connect(self, models: list[Model]) -> None:
        """Connect to the models that this run asks; each is to be appended, so that it is closed."""
        raise NotImplementedError

    async def _work(self) -> None:
        """Ask what is not done, until the run is stopped."""
        raise NotImplementedError

    def _journals(self) -> list[Journal[Any]]:
        """Open journals of its own, beside rows, texts and calls."""
        return []

    # --- the session ------------------------------------------------------------------------------------------------

    async def _start_each(
        self,
        group: asyncio.TaskGroup,
        slots: asyncio.Semaphore,
        items: Iterable[T],
        ask: Callable[[T], Coroutine[Any, Any, None]],
    ) -> None:
        """Start a task per item while the run goes on, as many at once as there are slots."""
        for item in items:
            await slots.acquire()
            if self._stop.reason is not None:
                slots.release()
                return
            task = group.create_task(self._guarded(ask(item)))
            task.add_done_callback(lambda _: slots.release())

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        """Await one task; a fault that is not the question's own stops the run."""
        try:
            await work
        except StopRequested:
            return
        except RunnerError as error:
            self._stop.pull(error)

    def interrupt(self) -> None:
        """Finish the calls in flight and stop, as on Ctrl-C; a second call drops those in flight."""
        self._interrupts += 1
        self._stop.pull(Stopped("interrupted"))
        if self._interrupts == 1:
            self._observer.note("stopping: waiting for the calls in flight (Ctrl-C again drops them)")
        elif self._main is not None:
            self._main.cancel()

    async def run(self) -> None:
        """Ask what is not recorded yet.

        Raises
        ------
        RunnerError
            Why the run stopped before its end, after what was in flight is written.
        """
        self._main = asyncio.current_task()
        self._remember()
        models: list[Model] = []
        journals: list[Journal[Any]] = []
        self._observer.begin(self._total, len(self._done))
        try:
            self._rows: Journal[Row] = Journal(self._run.rows_path)
            self._texts: Journal[Texts] = Journal(self._run.texts_path)
            calls: Journal[Call] = Journal(self._run.calls_path)
            journals += [self._rows, self._texts, calls, *self._journals()]
            self._ledger.open(calls)
            self._connect(models)
            watch = asyncio.create_task(self._watch(journals))
            try:
                await self._work()
            except asyncio.CancelledError:
                if self._stop.reason is None:
                    raise
            finally:
                watch.cancel()
                with suppress(asyncio.CancelledError):
                    await watch
        finally:
            self._observer.end()
            for model in models:
                await model.close()
            for journal in journals:
                try:
                    journal.close()
                except OSError as error:
                    log.warning("%s: %s", journal.path, error.strerror)
        if self._stop.reason is not None:
            raise self._stop.reason

    def _remember(self) -> None:
        """Load what earlier sessions finished."""
        ask_again = set()
        for row in self._run.rows():
            self._look(row)
            if row.status != OK and self._retry_errors:
                self._done.discard(row.id)
                if JUDGE_UNPARSEABLE in row.labels:
                    ask_again.add(row.id)
            else:
                self._done.add(row.id)
        self._ledger.remember(self._run.calls(), self._done, ask_again)

    async def _watch(self, journals: Sequence[Journal[Any]]) -> None:
        """Bring what is written to the disk every second, and end a run in which nothing finishes."""
        calls, warned = 0, False
        while True:
            await asyncio.sleep(1.0)
            for journal in journals:
                try:
                    await asyncio.to_thread(journal.sync)
                except OSError as error:
                    self._stop.pull(RunnerError(f"{journal.path}: cannot be written ({error.strerror})"))
            if self._ledger.finished != calls:
                calls, self._last_progress = self._ledger.finished, time.monotonic()
            idle = time.monotonic() - self._last_progress
            if idle > _SILENT_S and not warned:
                warned = True
                limits = f"run.search_s={self._config.search_s:g}, run.no_progress_s={self._config.no_progress_s:g}"
                self._observer.note(f"nothing has finished for {idle:.0f} s ({limits})")
            if idle > self._config.no_progress_s:
                limit = f"{self._config.no_progress_s:g} s (run.no_progress_s)"
                self._stop.pull(Stopped(f"nothing finished for {limit}; see run.log"))
                if self._main is not None:
                    self._main.cancel()

    def _look(self, row: Row) -> None:
        """Show a row to the watch of an arm, in the order of the journal, and stop the run when it is decided."""
        decided = self.watching.add(row) if self.watching is not None else None
        if decided is not None:
            self._stop.pull(decided)

    def _finished(self, row: Row, texts: Texts | None) -> None:
        """Write a question that was asked to its end, and count it for ``run.stop_after_errors``."""
        self._write(row, texts)
        if row.status == OK:
            self._stop.succeeded()
        else:
            self._stop.failed(f"{row.status}: {row.error}")

    def _write(self, row: Row, texts: Texts | None) -> None:
        """Write the texts, then the row, so that a row on disk always has its texts."""
        row = replace(row, error=row.error[:500])
        if texts is not None and self._config.texts:
            self._texts.append(texts)
        self._rows.append(row)
        self._look(row)
        self._last_progress = time.monotonic()
        self._observer.row(row, self._ledger.spend.usd)
        if row.status != OK:
            log.warning("%s: %s: %s", row.id, row.status, row.error)
