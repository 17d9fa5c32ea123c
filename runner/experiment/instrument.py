"""The instrument of a run: every row that must match before two runs compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

import runner
from runner.config import ModelConfig, digest
from runner.errors import Refused
from runner.experiment.prepare import PreparedExperiment
from runner.harness import Harness, code_of
from runner.llm import instrument_params
from runner.llm.judge import Judge
from runner.record import instrument as instruments
from runner.record.files import SUPERSEDED, CensusCounts, HarnessFacts, Instrument, LastCheck
from runner.record.rundir import FORMAT, RunDir
from runner.system import Provenance


def instrument(ready: PreparedExperiment, opened: Provenance, last_check: LastCheck | None = None) -> Instrument:
    """Return what must match for another run to compare, and what a gate must know to read this one offline."""
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
    return Instrument(
        format=FORMAT,
        runner=runner.__version__,
        rows=rows,
        fakes=fakes,
        harness=HarnessFacts(
            name=experiment.harness.name,
            synthetic=harness.synthetic,
            cluster=harness.cluster,
            categories=dict(harness.categories),
            comparable=sorted(harness.comparable),
            headline=harness.headline(experiment.axis),
            rubrics=list(harness.rubrics),
            macro=harness.macro,
            tags=list(harness.tags),
            metrics=list(harness.metrics),
            thresholds=dict(harness.thresholds()),
        ),
        census=CensusCounts(
            questions=ready.census.questions,
            scenarios=ready.census.scenarios,
            clusters=ready.census.clusters,
            events=ready.census.events,
            by_category=dict(ready.census.by_category),
        ),
        conformance=last_check or LastCheck(),
    )


def judge_rows(config: ModelConfig, judge: Judge | None, rules: Sequence[str] = ()) -> dict[str, Any]:
    """Return the rows of the instrument that describe the grader: the judge, if any, and the benchmark's own rules."""
    by = [judge.identity] if judge else []
    by += [f"rule:{rule}" for rule in sorted(rules)] if config.provider != "none" else []
    return {
        "judge.model": instruments.row_of_model(config.provider, config.model or config.name),
        "judge.params": instrument_params(config),
        "judge.rubric": " ".join(by) or "none",
    }


def write_side(ready: PreparedExperiment, opened: Provenance) -> str:
    """Return a digest of all that decides what is ingested; arms that share it differ on the read side only."""
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


def written_form(fresh: Instrument) -> dict[str, Any]:
    """Return the content of ``instrument.json`` of a new run; conformance is empty for a system never checked."""
    plain: dict[str, Any] = msgspec.to_builtins(fresh)
    harness = {name: value for name, value in plain["harness"].items() if name not in SUPERSEDED}
    return {**plain, "harness": harness, "conformance": plain["conformance"] if fresh.conformance.checked else {}}


def same_instrument(run: RunDir, fresh: Instrument, as_written: object = None) -> None:
    """Write the instrument of a new run; on a resume, refuse to mix two instruments in one run.

    Parameters
    ----------
    fresh
        The instrument of this session.
    as_written
        What the file is to hold where that is not simply ``fresh``.

    Raises
    ------
    Refused
        When another one is recorded.
    """
    if not (run.path / "instrument.json").exists():
        run.write_json("instrument.json", as_written or fresh)
        return
    recorded = run.instrument()
    changed = [
        name
        for name in instruments.mismatches(recorded.rows, fresh.rows)
        if recorded.rows.get(name) != fresh.rows.get(name)
    ]
    if changed:
        name = changed[0]
        raise Refused(
            f"{run.path}: the instrument changed since this run began, {name}: {recorded.rows.get(name)!r} then, "
            f"{fresh.rows.get(name)!r} now ({', '.join(changed)}); start a new run instead of resuming this one"
        )
