"""Another judge over recorded answers: the same questions, retrieval and answers, new labels.

What comes out is a run like any other: a gate compares it, a resume finishes it, another judge may grade it again.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec.structs import replace

import runner
from runner.config import Experiment
from runner.errors import ConfigError, Refused, RunnerError
from runner.experiment.execute import Outcome, run_session, session_record
from runner.experiment.grade import Graded, JudgeGrader, conclude
from runner.experiment.instrument import judge_rows, same_instrument
from runner.experiment.problems import Problems
from runner.experiment.regrade.source import (
    RecordedAnswers,
    answers_per_repeat,
    census_of,
    gradable,
    open_recorded,
    sample_ids,
)
from runner.experiment.session import Observer, RunSession
from runner.experiment.stop import stop_signals
from runner.llm import Model, connect
from runner.llm.judge import Judge
from runner.llm.prices import Prices
from runner.record import journal
from runner.record.files import AnswerSource, Instrument
from runner.record.id_set import IdSet
from runner.record.rundir import FORMAT, RunDir
from runner.record.usage import by_stage
from runner.types import JUDGE_SCORE, OK, READER_ERROR, Label, Question, Row, Texts

NO_ANSWER: Final = "the recorded run holds no answer to this question"


@dataclass(frozen=True)
class Regrade:
    """A judge and what it is to grade, found and checked; nothing is spent yet.

    Attributes
    ----------
    ids
        The questions of the new run, sorted.
    instrument
        The recorded one, with the judge's rows, the fakes and the slice replaced.
    """

    experiment: Experiment
    source: RecordedAnswers
    judge: Judge
    prices: Prices
    ids: list[str]
    instrument: Instrument


def prepare(experiment: Experiment) -> Regrade:
    """Open the recorded run and check the judge, before anything is spent.

    Raises
    ------
    ConfigError
        With the problems of judge and prices together.
    UsageError
        When the recorded run has nothing to grade.
    RecordError
        When it is damaged.
    """
    assert experiment.run.from_ is not None
    source = open_recorded(experiment.run.from_)
    if experiment.judge.provider == "rule":
        raise ConfigError(
            ["judge=rule: a benchmark's rule grades in the run itself; run.from wants a judge (judge=gpt-4.1)"]
        )
    problems = Problems()
    judge = problems.attempt(Judge, experiment.judge, source.instrument.harness.rubrics)
    prices = problems.attempt(Prices.load, experiment.run.prices)
    problems.check()
    ids = sample_ids(source, experiment.run.sample, experiment.run.seed)
    return Regrade(experiment, source, judge, prices, ids, _instrument(experiment, source, judge, ids))


def _instrument(experiment: Experiment, source: RecordedAnswers, judge: Judge, ids: Sequence[str]) -> Instrument:
    recorded, config = source.instrument, experiment.judge
    rows = {**recorded.rows, **judge_rows(config, judge)}
    if "rule:" in str(recorded.rows.get("judge.rubric")):  # what a rule graded, the judge grades by its own rubric
        rows["judge.rubric"] = f"{judge.rubric_sha256} {rows['judge.rubric']}"
    census = recorded.census
    if experiment.run.sample is not None:
        chosen = IdSet()
        chosen.add(name.encode() for name in ids)
        rows |= {"slice.sha256": chosen.hexdigest(), "slice.questions": len(ids)}
        census = census_of(source, ids)
    fakes = [fake for fake in recorded.fakes if not fake.startswith("judge ")]
    fakes += [f"judge {config.name}"] if config.provider == "fake" else []
    return replace(recorded, format=FORMAT, runner=runner.__version__, rows=rows, fakes=fakes, census=census)


def execute(run: RunDir, ready: Regrade, observer: Observer, *, retry_errors: bool = False) -> Outcome:
    """Grade what is left of a claimed run directory, then write its summary.

    Raises
    ------
    Refused
        When the recorded run is no longer the one that this run began with.
    RunnerError
        The reason why the run stopped, after everything that was finished is on disk.
    """
    return run_session(run, lambda: _session(run, ready, observer, retry_errors))


async def _session(run: RunDir, ready: Regrade, observer: Observer, retry_errors: bool) -> None:
    prior = run.provenance()
    about = source_record(ready)
    _same_source(run, prior.source, about)
    same_instrument(run, ready.instrument)
    recorded = ready.source.provenance
    record = {
        "run_id": prior.run_id or secrets.token_hex(4),
        "source": about,
        "dataset": recorded.dataset,
        "prices": {"date": ready.prices.date, "sha256": ready.prices.sha256},
        "system": recorded.system,
        "write_side": recorded.write_side,
    }
    engine = RegradeSession(run, ready, observer, retry_errors=retry_errors)
    with session_record(run, record), stop_signals(engine.interrupt):
        await engine.run()


def source_record(ready: Regrade) -> dict[str, Any]:
    """Return the provenance of the recorded run: which one, what it held, and which judge graded its answers first."""
    source = ready.source
    above = source.provenance.source
    own = above.judge if above else None
    rows = source.instrument.rows
    return {
        "run": source.run.path.name,
        "run_id": source.provenance.run_id,
        "rows_sha256": source.rows_sha256,
        "texts_sha256": source.texts_sha256,
        "answers": source.answers,
        "judge": own or {name: value for name, value in rows.items() if name.startswith("judge.")},
    }


def _same_source(run: RunDir, then: AnswerSource | None, now: dict[str, Any]) -> None:
    """Refuse, on a resume, to grade other answers than those that the run began with."""
    if then is None:
        return
    for name, what in (("texts_sha256", "answers"), ("rows_sha256", "rows")):
        if getattr(then, name) != now[name]:
            before, after = str(getattr(then, name))[:12], str(now[name])[:12]
            raise Refused(
                f"{run.path}: the {what} of the recorded run '{now['run']}' changed since this run began (sha256 "
                f"{before}… then, {after}… now); start a new run instead of resuming this one"
            )


class _Served(msgspec.Struct):
    """The part of a recorded call that says what a server served."""

    class _Reply(msgspec.Struct):
        model: str = ""

    question: str
    role: str
    completion: _Reply


class RegradeSession(RunSession):
    """One session of a judge over recorded answers.

    Memory is bounded by what is in flight, and by the rows: texts stream from the recorded run into the new one.
    """

    def __init__(self, run: RunDir, ready: Regrade, observer: Observer, *, retry_errors: bool = False) -> None:
        super().__init__(run, ready.experiment.run, len(ready.ids), observer, retry_errors=retry_errors)
        self._ready = ready
        self._source = ready.source
        self._chosen = frozenset(ready.ids)
        self._readers, self._judges = self._served()

    def _served(self) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
        """Return the models that served the recorded run, by question: as reader, and as judge."""
        found: dict[str, dict[str, tuple[str, ...]]] = {"reader": {}, "judge": {}}
        for call in journal.read(self._source.run.calls_path, _Served):
            if call.role in found and call.question in self._chosen:
                names = found[call.role].get(call.question, ())
                if call.completion.model not in names:
                    found[call.role][call.question] = (*names, call.completion.model)
        return found["reader"], found["judge"]

    def _remember(self) -> None:
        super()._remember()
        if self._retry_errors:  # where there is no answer, there is nothing to ask again
            answered = self._source.answered
            self._done |= {row.id for row in self._run.rows() if row.id not in answered}

    def _connect(self, models: list[Model]) -> None:
        config, prices = self._ready.experiment.judge, self._ready.prices
        models.append(connect(config, prices))
        unknown = config.provider == "openai" and prices.usd(config.model, 1, 1, 0) is None
        self._ledger.spend.check_prices([config.model] if unknown else [])
        self._judge = JudgeGrader(self._ready.judge, models[0], self._ledger)

    async def _work(self) -> None:
        slots = asyncio.Semaphore(self._config.concurrency)
        batches = self._source.batches()
        async with asyncio.TaskGroup() as group:
            while self._stop.reason is None:
                try:  # decoding megabytes is not for the loop
                    batch = await asyncio.to_thread(next, batches, None)
                except RunnerError as error:
                    self._stop.pull(error)
                    break
                if batch is None:
                    break
                left = [texts for texts in batch if texts.id in self._chosen and texts.id not in self._done]
                await self._start_each(group, slots, left, self._question)
            for name in self._ready.ids:
                if self._stop.reason is None and name not in self._done and name not in self._source.lines:
                    self._write(self._without_answer(self._source.rows[name]), None)

    async def _question(self, texts: Texts) -> None:
        self._stop.check()
        recorded = self._source.rows[texts.id]
        if texts.id not in self._source.answered:
            self._write(self._without_answer(recorded), texts)
        else:
            self._finished(*await self._regraded(recorded, texts))

    def _without_answer(self, row: Row) -> Row:
        """Return the row of a question without an answer, with the recorded failure."""
        if row.status != OK:
            return row
        return replace(row, status=READER_ERROR, error=NO_ANSWER, label="", labels=())

    async def _regraded(self, recorded: Row, texts: Texts) -> tuple[Row, Texts]:
        """Return the recorded row and texts with new labels; repeats whose reader failed keep their fault."""
        started = time.time()
        question = Question(
            id=recorded.id, text=texts.question, category=recorded.category, gold=texts.gold, rubric=texts.rubric
        )
        answers, can = answers_per_repeat(recorded, texts.answers), gradable(recorded, texts.answers)
        graded: list[Graded] = []
        for repeat, answer in enumerate(answers):
            if can[repeat]:
                graded.append(await self._judge.grade(question, answer, repeat))
            else:
                reason = texts.reasons[repeat] if repeat < len(texts.reasons) else ""
                graded.append(Graded(Label(value=READER_ERROR, reason=reason)))
        conclusion = conclude([item.label for item in graded])
        kept = {name: value for name, value in recorded.metrics.items() if name != JUDGE_SCORE}
        usage = [(stage, use) for stage, use in recorded.usage.items() if stage != "judge"]
        models = (name for item in graded for name in item.models)
        row = replace(
            recorded,
            status=conclusion.status,
            error=conclusion.error,
            label=conclusion.label,
            labels=conclusion.labels,
            metrics=kept | conclusion.metrics,
            usage=by_stage([*usage, *(use for item in graded for use in item.used)]),
            started=started,
            models=tuple(dict.fromkeys([*self._reader_models(recorded), *models])),
        )
        return row, replace(texts, answers=answers, reasons=tuple(item.label.reason for item in graded))

    def _reader_models(self, row: Row) -> tuple[str, ...]:
        """Return the reader's models; where its calls are not recorded, all models but the recorded judge's."""
        graded_by = self._judges.get(row.id, ())
        return self._readers.get(row.id) or tuple(name for name in row.models if name not in graded_by)
