"""One run from the command line, new or resumed: prepare, claim, execute, tell."""

from __future__ import annotations

import logging
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from runner.cli._words import own_folders
from runner.cli._words.directories import resume_line, shown
from runner.cli.trust import refuse_strange
from runner.config import Experiment, ModelConfig, cache_dir, load, own_path
from runner.errors import ConfigError, Refused, RunnerError, Stopped
from runner.record.rundir import RunDir
from runner.record.sweepdir import is_sweep
from runner.safe import mask, printable


class Interrupted(Stopped):
    """Ctrl-C, after everything in flight was written."""


def anchored(values: dict[str, Any]) -> dict[str, Any]:
    """The config with its file paths made absolute, so that a run can be resumed from any folder."""

    def absolute(path: Any) -> Any:
        return str(own_path(path).absolute()) if isinstance(path, str) and path else path

    harness, run = values.get("harness"), values.get("run")
    if isinstance(harness, dict):
        dataset = harness.get("dataset")
        if isinstance(dataset, dict) and "path" in dataset:
            dataset["path"] = absolute(dataset["path"])
        if isinstance(harness.get("patches"), list):
            harness["patches"] = [absolute(item) for item in harness["patches"]]
        settings = harness.get("settings")
        if isinstance(settings, dict):
            own = settings.get("scenarios")
            if isinstance(own, str) and own_path(own).is_dir():  # a number in another benchmark
                settings = harness["settings"] = {**settings, "scenarios": absolute(own)}
            if isinstance(settings.get("corpus"), str):
                harness["settings"] = {**settings, "corpus": absolute(settings["corpus"])}
    if isinstance(run, dict):
        run |= {key: absolute(run[key]) for key in ("prices", "from") if key in run}
    gate = values.get("gate")
    if isinstance(gate, dict):
        gate |= {key: absolute(gate[key]) for key in ("calibration", "human") if key in gate}
        if isinstance(gate.get("band"), str) and gate["band"].startswith("from:"):
            gate["band"] = f"from:{absolute(gate['band'].removeprefix('from:'))}"
    for model in (values.get("reader"), values.get("judge")):
        for key in ("prompt", "rubric", "abstain_rubric"):
            # A bare name is one of conf/; a path is a file of one's own.
            if isinstance(model, dict) and isinstance(model.get(key), str) and Path(model[key]).is_file():
                model[key] = absolute(model[key])
    return values


def start(run: RunDir, values: dict[str, Any], *, to_the_end: bool = False) -> int:
    """Begin a new run in an empty directory.

    Raises
    ------
    RunnerError
        Whatever stopped it; what is finished is on disk.
    """
    try:
        values = anchored(values)
        experiment = load(values)
        ready = _kind(experiment)[0](experiment)
        _require_models(experiment)
        _require_sweep(run, experiment)
    except RunnerError:
        remove_if_empty(run.path)
        raise
    run.create(experiment.model_dump(mode="json"), cache_dir())  # every key with its value, defaults included
    try:
        return _perform(run, experiment, ready, to_the_end=to_the_end)
    finally:
        run.release()


def _require_sweep(run: RunDir, experiment: Experiment) -> None:
    if experiment.run.stop_when_decided and not experiment.run.from_ and not is_sweep(run.path.parent):
        from runner.early_stop.watch import single_run_problem

        raise ConfigError([single_run_problem()])


def _caution(experiment: Experiment, ready: Any) -> str | None:
    """What so few clusters mean for an arm that is to stop when it is decided."""
    if not experiment.run.stop_when_decided or experiment.run.from_:
        return None
    from runner.early_stop.watch import too_few_clusters as of_clusters

    return of_clusters(ready.census.clusters, ready.harness.cluster)


def finish(run: RunDir, *, retry_errors: bool = False, trust: bool = False, to_the_end: bool = False) -> int:
    """Go on with a recorded run; a finished one costs nothing, nor does one that was decided early.

    Raises
    ------
    Refused
        When the record is not one that this person's runner wrote and would run a command or send a key, and ``trust``
        is not given.
    """
    if run.experiment().judge.provider == "imported":
        print(f"{shown(run.path)}: imported from another harness, nothing to resume")
        return 0
    if run.finished() and not retry_errors:
        print(f"{shown(run.path)}: finished already, nothing to do")
        return _smoke(run, tell=True)
    decided = "" if to_the_end else run.decided()
    if decided:
        print(f"{shown(run.path)}: {decided}; nothing to do. {_all_the_same(run)}")
        return 0
    experiment = run.experiment()
    if not trust and not run.sealed(cache_dir()):
        refuse_strange(run.path, experiment)
    _require_models(experiment)
    run.claim()
    try:
        ready = _kind(experiment)[0](experiment)
        return _perform(run, experiment, ready, retry_errors=retry_errors, to_the_end=to_the_end)
    finally:
        run.release()


def _kind(experiment: Experiment) -> tuple[Any, Any, Any]:
    """How to prepare, execute and head a run: of a memory with its models, or of a judge over recorded answers."""
    if experiment.run.from_:
        from runner.experiment import regrade
        from runner.report import judges

        return regrade.prepare, regrade.execute, judges.headline
    if experiment.run.sample is not None:
        raise ConfigError(["run.sample: draws from recorded answers; name the run that holds them (run.from=DIR)"])
    from runner.experiment.execute import execute
    from runner.experiment.prepare import prepare
    from runner.report.run import headline

    return prepare, execute, headline


def _asked(experiment: Experiment) -> tuple[ModelConfig, ...]:
    """The models that a run asks: of recorded answers only the judge."""
    return (experiment.judge,) if experiment.run.from_ else (experiment.reader, experiment.judge)


def _require_models(experiment: Experiment) -> None:
    from runner.llm import FAKE_JUDGE, FAKES, require

    first_look = FAKE_JUDGE if experiment.run.from_ or experiment.reader.provider == "ask" else FAKES
    problems: list[str] = []
    for model in _asked(experiment):
        try:
            require(model, first_look)
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)


def _perform(
    run: RunDir, experiment: Experiment, ready: Any, *, retry_errors: bool = False, to_the_end: bool = False
) -> int:
    from runner.harness import code_of
    from runner.llm import override_warning
    from runner.report.console import console, error_console
    from runner.report.progress import observer
    from runner.report.run import run_table
    from runner.report.section import sections

    _, execute, headline = _kind(experiment)
    few = _caution(experiment, ready)
    if few:
        print(f"warning: {few}", file=sys.stderr)
    name = f"{experiment.arm.name} by {experiment.judge.name}" if experiment.run.from_ else experiment.arm.name
    warnings = [warning for model in _asked(experiment) if (warning := override_warning(model))]
    warnings += [] if experiment.run.from_ else ready.harness.caveats()
    for warning in warnings:
        line = f"warning: {printable(warning)}"
        error_console().print(line, style="yellow", markup=False, highlight=False, soft_wrap=True)
    print(headline(ready, shown(run.path)))
    with logged(run):
        try:
            # Answers that are recorded are never watched.
            whole = {"to_the_end": True} if to_the_end and not experiment.run.from_ else {}
            outcome = execute(run, ready, observer(name), cache_dir=cache_dir(), retry_errors=retry_errors, **whole)
        except KeyboardInterrupt:
            how = f"interrupted. {_go_on(run)}"
            print(how, file=sys.stderr)
            raise Interrupted(how) from None
        except Stopped as stop:
            how = f"{stop}; what is finished is kept. {_go_on(run)}"
            if str(stop) == "interrupted":
                print(how, file=sys.stderr)
                raise Interrupted(how) from None
            raise Stopped(how) from None
        except Refused:
            raise
        except RunnerError as error:
            if run.rows_path.exists() and run.rows_path.stat().st_size:
                told = RunnerError(f"{str(error).rstrip('.')}; what is finished is kept. {_go_on(run)}")
                told.exit_code = error.exit_code
                raise told from error
            raise
        except Exception:
            logging.getLogger("runner").exception("a bug; please report it with this file")
            raise
    console().print(run_table(run))
    for section in sections([run]) if not experiment.run.from_ and code_of(ready.harness) else ():
        console().print(section)  # of one's own benchmark; a shipped one's compares arms, in `report`
    summary = run.summary()
    if summary and summary.rows and summary.errors == summary.rows:
        first = next(iter(summary.samples.values()), "")
        raise RunnerError(
            f"no question was scored, all {summary.rows} failed ({first}); mend the cause, then: "
            f"{resume_line(run.path)} --retry-errors"
        )
    if outcome.state == "decided":
        print(f"{outcome.reason}. {_all_the_same(run)}")
        return 0
    if outcome.state != "complete":
        print(f"incomplete. {_go_on(run)}", file=sys.stderr)
        return 1
    if experiment.run.from_ and not (experiment.gate.enabled and is_sweep(run.path.parent)):  # a sweep tells them all
        print(_against(run, experiment.run.from_))
    return _smoke(run)  # its lines stand below the table


def _smoke(run: RunDir, *, tell: bool = False) -> int:
    """The exit code of a run by the smoke test of its benchmark; 0 where it has none."""
    from runner.analysis.smoke import smoke_of

    smoke = smoke_of(run)
    for line in smoke.lines() if smoke and tell else ():
        print(line)
    return smoke.exit_code if smoke else 0


def _all_the_same(run: RunDir) -> str:
    return f"To finish it all the same: {resume_line(run.path)} --to-the-end"


def _go_on(run: RunDir) -> str:
    changed = " (after a change to your own system's code, start a new run)" if own_folders.added else ""
    return f"Go on with: {resume_line(run.path)}{changed}"


def _against(run: RunDir, source: str) -> str:
    """The command that shows a judge beside the one that graded the same answers before."""
    names = " ".join(shlex.quote(shown(path)) for path in (Path(source), run.path))
    return f"the two judges side by side: python -m runner report {names}"


@contextmanager
def logged(run: RunDir) -> Iterator[None]:
    """Detail of one run into its run.log, nothing secret in it."""

    class Masked(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return mask(super().format(record))

    logging.raiseExceptions = False  # a full disk takes the log first; the run itself says so in one line
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
        with suppress(OSError):  # what a full disk did not take is gone
            handler.close()


_told: set[str] = set()


def note_failure(run: RunDir, error: RunnerError) -> None:
    """Say that a job of a sweep failed, on the terminal and in its directory; the sweep goes on."""
    for line in str(error).splitlines():
        if line in _told:  # every job of a sweep fails for the same reason: say it once
            continue
        _told.add(line)
        print(f"error: {run.path.name}: {printable(mask(line))}", file=sys.stderr)
    try:
        run.path.mkdir(parents=True, exist_ok=True)
        run.write_json("failure.json", {"reason": str(error), "exit_code": error.exit_code})
    except (OSError, RunnerError):
        logging.getLogger("runner").warning("the failure of %s could not be written down", run.path)


def remove_if_empty(path: Path) -> None:
    """A run that never started leaves no empty folder behind."""
    for folder in (path, path.parent):
        try:
            folder.rmdir()
        except OSError:
            return
