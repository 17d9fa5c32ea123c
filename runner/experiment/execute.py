"""Run or finish a run directory, from its repaired journals to its summary."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.analysis.summary import summarise
from runner.early_stop.watch import begin_watch
from runner.errors import Decided, RecordError, RunnerError, Stopped
from runner.experiment.conformance import remembered
from runner.experiment.instrument import instrument, same_instrument, write_side, written_form
from runner.experiment.prepare import PreparedExperiment, require_capable
from runner.experiment.run_loop import QuestionLoop
from runner.experiment.session import Observer
from runner.experiment.stop import stop_signals
from runner.record import provenance
from runner.record.rundir import RunDir
from runner.safe import mask
from runner.system import Opening

log = logging.getLogger("runner")


@dataclass(frozen=True)
class Outcome:
    """The end of a session. ``state`` is ``complete``, ``decided`` (early), ``incomplete`` or ``failed``."""

    state: str
    reason: str = ""


def execute(
    run: RunDir,
    ready: PreparedExperiment,
    observer: Observer,
    *,
    cache_dir: Path | None,
    retry_errors: bool = False,
    to_the_end: bool = False,
) -> Outcome:
    """Run what is left of a claimed run directory, then write its summary.

    A run that stops early (interrupt, budget, full disk, unusable endpoint) keeps every finished line and says how to
    go on. An arm of a sweep with ``run.stop_when_decided`` is watched, unless it is to run ``to_the_end``.

    Raises
    ------
    RunnerError
        The reason why the run stopped, after everything that was finished is on disk.
    """
    return run_session(run, lambda: _session(run, ready, observer, cache_dir, retry_errors, to_the_end))


def run_session(run: RunDir, session: Callable[[], Coroutine[Any, Any, None]]) -> Outcome:
    """Run one session, from its repaired journals to its summary.

    Raises
    ------
    RunnerError
        As :func:`execute`.
    """
    run.repair()
    problem: RunnerError | None = None
    try:
        asyncio.run(session())
    except RunnerError as error:
        problem = error
    outcome = write_outcome(run, problem)
    if problem is not None and not isinstance(problem, Decided):
        raise problem
    return outcome


def write_outcome(run: RunDir, problem: RunnerError | None) -> Outcome:
    """Write ``summary.json`` from what is recorded, and say how the run stands."""
    try:
        recorded = run.instrument()
    except RecordError:
        return Outcome("failed", str(problem or "the run never started"))
    figures = summarise(run, recorded)
    resumable = isinstance(problem, Stopped | RecordError) or (problem is not None and figures.rows > 0)
    state = "complete" if figures.left == 0 else "incomplete" if resumable else "failed"
    if problem is None and state != "complete":
        state = "incomplete"
    reason, decided = str(problem) if problem else "", None
    if state == "incomplete" and isinstance(problem, Decided):
        state, decided = "decided", problem.numbers
    try:
        run.write_summary(figures, state, reason, decided)
    except RecordError:
        if problem is None:
            raise
    return Outcome(state, reason)


async def _session(
    run: RunDir,
    ready: PreparedExperiment,
    observer: Observer,
    cache_dir: Path | None,
    retry_errors: bool,
    to_the_end: bool,
) -> None:
    run_id = run.provenance().run_id or secrets.token_hex(4)
    engine = QuestionLoop(run, ready, observer, run_id=run_id, retry_errors=retry_errors)
    try:
        opened = await ready.system.open(engine.opening(Opening(cache_dir=cache_dir)))
    except RunnerError:
        raise
    except Exception as error:
        log.exception("open of system %s", ready.experiment.arm.system)
        reason = mask(f"{type(error).__name__}: {error}")
        raise RunnerError(f"system '{ready.experiment.arm.system}' did not open: {reason}; see run.log") from error
    try:
        require_capable(ready.experiment, ready.system, ready.census)
        fresh = instrument(ready, opened, remembered(cache_dir, ready.experiment.arm, opened))
        same_instrument(run, fresh, written_form(fresh))
        record: dict[str, Any] = {
            "run_id": run_id,
            "dataset": vars(ready.dataset),
            "prices": {"date": ready.prices.date, "sha256": ready.prices.sha256},
            "system": {**opened.extra, "build": opened.build, "capabilities": vars(ready.system.capabilities)},
            "write_side": write_side(ready, opened),
        }
        if ready.experiment.run.stop_when_decided:
            watched = run.read_json("provenance.json").get("watched")
            before = watched if isinstance(watched, list) else []
            record["watched"] = [*before, _watch(run, ready, engine, observer, to_the_end)]
        with session_record(run, record), stop_signals(engine.interrupt):
            await engine.run()
    finally:
        await ready.system.close()


def _watch(
    run: RunDir, ready: PreparedExperiment, engine: QuestionLoop, observer: Observer, to_the_end: bool
) -> dict[str, Any]:
    """Watch an arm of a sweep against its baseline, or not; return the entry for ``provenance.json``."""
    found = "it is to run to its end" if to_the_end else begin_watch(run, ready.experiment, run.instrument())
    if isinstance(found, str):
        observer.note(f"not watched: {found}")
        return {"not": found}
    engine.watching = found
    observer.note(found.note)
    return found.record


@contextmanager
def session_record(run: RunDir, record: dict[str, Any]) -> Iterator[None]:
    """Write ``provenance.json`` when a session begins, below those of earlier ones, and when it ends."""
    sittings = [*run.read_json("provenance.json").get("sittings", []), provenance.start()]
    record = {**record, "sittings": sittings}
    run.write_json("provenance.json", record)
    try:
        yield
    finally:
        sittings[-1]["ended"] = provenance.now()
        try:
            run.write_json("provenance.json", record)
        except RecordError as error:
            log.warning("%s", error)
