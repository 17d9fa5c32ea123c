"""One run: scenarios → system → reader → judge → rows.

:func:`prepare` checks everything that can be checked without spending; :func:`execute` runs or finishes a run
directory; :mod:`runner.experiment.run_loop` holds the loop itself.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import runner
from runner.analysis.summary import summarise
from runner.config import ModelConfig, digest
from runner.early_stop.watch import begin, watched_so_far
from runner.errors import Decided, RecordError, Refused, RunnerError, Stopped
from runner.experiment.conformance import remembered
from runner.experiment.prepare import Ready, prepare, require_capable
from runner.experiment.run_loop import Engine
from runner.experiment.session import Observer
from runner.experiment.stop import stop_signals
from runner.harness import Harness, code_of
from runner.llm import instrument_params
from runner.llm.judge import Judge
from runner.record import instrument as instruments
from runner.record import provenance
from runner.record.rundir import FORMAT, RunDir
from runner.safe import mask
from runner.system import Opening, Provenance

__all__ = ["Observer", "Outcome", "Ready", "execute", "instrument", "judge_rows", "prepare", "settle"]

log = logging.getLogger("runner")


def instrument(ready: Ready, opened: Provenance) -> dict[str, Any]:
    """What must match for another run to compare with this one, and what a gate must know to read it offline."""
    experiment, harness = ready.experiment, ready.harness
    reader, judge = experiment.reader, experiment.judge
    rows: dict[str, Any] = {
        "axis": experiment.axis,
        "harness": experiment.harness.name + code_of(harness),
        "harness.settings": digest(harness.settings.model_dump(mode="json"))[:16],
        "dataset.version": ready.dataset.version or instruments.UNKNOWN,
        "dataset.sha256": ready.dataset.sha256 + ("" if ready.dataset.pinned else " (unpinned)"),
        "dataset.patches": ready.dataset.patches or "none",
        "slice.sha256": ready.census.sha256,
        "slice.questions": ready.census.questions,
        "k": experiment.harness.k,
        "reader.model": instruments.row_of_model(reader.provider, reader.model or reader.name),
        "reader.params": instrument_params(reader),
        "reader.prompt": ready.reader.identity if ready.reader else "none",
        **judge_rows(judge, ready.judge, harness.rules),
        **({"lexical": ready.simplifier.identity} if ready.simplifier else {}),
        "repeats": experiment.run.repeats if experiment.axis == "accuracy" else 1,
        "denominator": _denominator(experiment.axis, harness),
        "search_mode": experiment.arm.recall.mode,
        "embedder": opened.embedder,
        "reranker": opened.reranker,
        "server_build": opened.build,
        "index_revision": opened.index_revision,
        "crediting": "off",
        "scoring": instruments.SCORING,
    }
    fakes = [f"reader {reader.name}"] if reader.provider == "fake" else []
    fakes += [f"judge {judge.name}"] if judge.provider == "fake" else []
    fakes += [f"embedder {opened.embedder}"] if opened.fake else []
    return {
        "format": FORMAT,
        "runner": runner.__version__,
        "rows": rows,
        "fakes": fakes,
        "harness": {
            "name": experiment.harness.name,
            "synthetic": harness.synthetic,
            "cluster": harness.cluster,
            "categories": dict(harness.categories),
            "comparable": sorted(harness.comparable),
            "headline": harness.headline(experiment.axis),
            "rubrics": list(harness.rubrics),
            "macro": harness.macro,
            "tags": list(harness.tags),
            "classifies": harness.classifies,
            "paired": harness.paired,
            "thresholds": harness.thresholds(),
        },
        "census": {
            "questions": ready.census.questions,
            "scenarios": ready.census.scenarios,
            "clusters": ready.census.clusters,
            "events": ready.census.events,
            "by_category": dict(ready.census.by_category),
        },
    }


def judge_rows(config: ModelConfig, judge: Judge | None, rules: Sequence[str] = ()) -> dict[str, Any]:
    """The rows of the instrument that describe who grades; ``None`` is no judge, ``rules`` are the benchmark's own."""
    by = [judge.identity] if judge else []
    by += [f"rule:{rule}" for rule in sorted(rules)] if config.provider != "none" else []
    return {
        "judge.model": instruments.row_of_model(config.provider, config.model or config.name),
        "judge.params": instrument_params(config),
        "judge.rubric": " ".join(by) or "none",
    }


def write_side(ready: Ready, opened: Provenance) -> str:
    """Digest of all that decides what is ingested; arms that share it differ on the read side only."""
    arm = ready.experiment.arm
    return digest(
        [
            arm.system,
            arm.ingest,
            arm.settings,
            opened.build,
            opened.embedder,
            opened.index_revision,
            ready.dataset.sha256,
        ]
    )[:16]


def _denominator(axis: str, harness: Harness) -> str:
    categories = ",".join(sorted(harness.comparable))
    if axis == "recall":
        return f"questions with evidence of categories {categories}; errors excluded"
    return f"correct / (correct + wrong + abstained) over categories {categories}; errors excluded"


@dataclass(frozen=True)
class Outcome:
    """How a sitting ended. ``state`` is ``complete``, ``decided`` (early), ``incomplete`` or ``failed``."""

    state: str
    reason: str = ""


def execute(
    run: RunDir,
    ready: Ready,
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
    return carried_out(run, lambda: _session(run, ready, observer, cache_dir, retry_errors, to_the_end))


def carried_out(run: RunDir, session: Callable[[], Coroutine[Any, Any, None]]) -> Outcome:
    """One sitting from its repaired journals to its summary.

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
    outcome = settle(run, problem)
    if problem is not None and not isinstance(problem, Decided):
        raise problem
    return outcome


def settle(run: RunDir, problem: RunnerError | None) -> Outcome:
    """Write ``summary.json`` from what is recorded, and say how the run stands."""
    try:
        recorded = run.instrument()
    except RecordError:
        return Outcome("failed", str(problem or "the run never started"))
    summary = summarise(run, recorded)
    resumable = isinstance(problem, Stopped | RecordError) or (problem is not None and summary["rows"] > 0)
    state = "complete" if summary["left"] == 0 else "incomplete" if resumable else "failed"
    if problem is None and state != "complete":
        state = "incomplete"
    decided = {}
    if state == "incomplete" and isinstance(problem, Decided):
        state, decided = "decided", {"decided": problem.numbers}
    summary = {"state": state, "reason": str(problem) if problem else "", **decided, **summary}
    try:
        run.write_json("summary.json", summary)
    except RecordError:
        if problem is None:
            raise
    return Outcome(state, summary["reason"])


async def _session(
    run: RunDir, ready: Ready, observer: Observer, cache_dir: Path | None, retry_errors: bool, to_the_end: bool
) -> None:
    prior = run.read_json("provenance.json")
    run_id = str(prior.get("run_id") or secrets.token_hex(4))
    engine = Engine(run, ready, observer, run_id=run_id, retry_errors=retry_errors)
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
        same_instrument(
            run, {**instrument(ready, opened), "conformance": remembered(cache_dir, ready.experiment.arm, opened)}
        )
        record: dict[str, Any] = {
            "run_id": run_id,
            "dataset": vars(ready.dataset),
            "prices": {"date": ready.prices.date, "sha256": ready.prices.sha256},
            "system": {**opened.extra, "build": opened.build, "capabilities": vars(ready.system.capabilities)},
            "write_side": write_side(ready, opened),
        }
        if ready.experiment.run.stop_when_decided:
            record["watched"] = [*watched_so_far(prior), _watch(run, ready, engine, observer, to_the_end)]
        with noted(run, record), stop_signals(engine.interrupt):
            await engine.run()
    finally:
        await ready.system.close()


def _watch(run: RunDir, ready: Ready, engine: Engine, observer: Observer, to_the_end: bool) -> dict[str, Any]:
    """Watch an arm of a sweep against its baseline, or not; what provenance says of it."""
    found = "it is to run to its end" if to_the_end else begin(run, ready.experiment, run.instrument())
    if isinstance(found, str):
        observer.note(f"not watched: {found}")
        return {"not": found}
    engine.watching = found
    observer.note(found.note)
    return found.record


@contextmanager
def noted(run: RunDir, record: dict[str, Any]) -> Iterator[None]:
    """Write ``provenance.json`` when a sitting begins, below those of earlier ones, and when it ends."""
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


def same_instrument(run: RunDir, fresh: dict[str, Any]) -> None:
    """On a resume, refuse to mix two instruments in one run."""
    if not (run.path / "instrument.json").exists():
        run.write_json("instrument.json", fresh)
        return
    recorded = run.instrument()
    changed = [
        name
        for name in instruments.mismatches(recorded["rows"], fresh["rows"])
        if recorded["rows"].get(name) != fresh["rows"].get(name)
    ]
    if changed:
        name = changed[0]
        raise Refused(
            f"{run.path}: the instrument changed since this run began, {name}: {recorded['rows'].get(name)!r} then, "
            f"{fresh['rows'].get(name)!r} now ({', '.join(changed)}); start a new run instead of resuming this one"
        )
