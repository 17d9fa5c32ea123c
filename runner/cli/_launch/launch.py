"""One run from the command line, new or resumed: prepare it, claim its directory, execute it, show what came out."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any

from runner.cli._launch import next_step
from runner.cli._launch.file_paths import load_here
from runner.cli._launch.run_log import logged, remove_if_empty
from runner.cli._launch.trust import refuse_strange
from runner.cli._words.directories import resume_line, shown
from runner.config import cache_dir
from runner.errors import Refused, RunnerError, Stopped
from runner.record.rundir import RunDir
from runner.record.sweepdir import is_sweep
from runner.safe import printable

if TYPE_CHECKING:
    from runner.cli._launch.job import Job
    from runner.experiment.execute import Outcome


class Interrupted(Stopped):
    """Ctrl-C, after everything in flight was written."""


def start(run: RunDir, values: dict[str, Any], *, to_the_end: bool = False) -> int:
    """Begin a new run in an empty directory and return its exit code.

    Raises
    ------
    RunnerError
        The reason why it stopped; what is finished is on disk.
    """
    from runner.cli._launch.job import prepare_job, require_models, require_sweep

    try:
        experiment = load_here(values)
        job = prepare_job(experiment)
        require_models(experiment)
        require_sweep(run, experiment)
    except RunnerError:
        remove_if_empty(run.path)
        raise
    run.create(experiment.model_dump(mode="json"), cache_dir())  # every key with its value, defaults included
    try:
        return _perform(run, job, to_the_end=to_the_end)
    finally:
        run.release()


def finish(run: RunDir, *, retry_errors: bool = False, trust: bool = False, to_the_end: bool = False) -> int:
    """Go on with a recorded run and return its exit code; one that is finished or was decided early costs nothing.

    Raises
    ------
    Refused
        When the record is not one that this person's runner wrote and would run a command or send a key, and ``trust``
        is not given.
    """
    experiment = run.experiment()
    if experiment.judge.provider == "imported":
        print(f"{shown(run.path)}: imported from another harness, nothing to resume")
        return 0
    if run.finished() and not retry_errors:
        print(f"{shown(run.path)}: finished already, nothing to do")
        return _smoke_test(run, show=True)
    decided = "" if to_the_end else run.decided()
    if decided:
        print(f"{shown(run.path)}: {decided}; nothing to do. {next_step.finish_all_the_same(run)}")
        return 0
    if not trust and not run.sealed(cache_dir()):
        refuse_strange(run.path, experiment)
    from runner.cli._launch.job import prepare_job, require_models

    require_models(experiment)
    run.claim()
    try:
        return _perform(run, prepare_job(experiment), retry_errors=retry_errors, to_the_end=to_the_end)
    finally:
        run.release()


def _perform(run: RunDir, job: Job, *, retry_errors: bool = False, to_the_end: bool = False) -> int:
    from runner.report.console import console, error_console
    from runner.report.run import run_table
    from runner.report.section import sections

    few = job.few_clusters()
    if few:
        print(f"warning: {few}", file=sys.stderr)
    for warning in job.warnings():
        line = f"warning: {printable(warning)}"
        error_console().print(line, style="yellow", markup=False, highlight=False, soft_wrap=True)
    print(job.headline(shown(run.path)))
    with logged(run):
        outcome = _execute(run, job, retry_errors, to_the_end)
    console().print(run_table(run))
    for section in sections([run]) if job.own_benchmark else ():
        console().print(section)
    summary = run.summary()
    if summary and summary.rows and summary.errors == summary.rows:
        first = next(iter(summary.samples.values()), "")
        raise RunnerError(
            f"no question was scored, all {summary.rows} failed ({first}); mend the cause, then: "
            f"{resume_line(run.path)} --retry-errors"
        )
    if outcome.state == "decided":
        print(f"{outcome.reason}. {next_step.finish_all_the_same(run)}")
        return 0
    if outcome.state != "complete":
        print(f"incomplete. {next_step.go_on(run)}", file=sys.stderr)
        return 1
    source = job.experiment.run.from_
    if source and not (job.experiment.gate.enabled and is_sweep(run.path.parent)):  # a sweep shows them all at its end
        print(next_step.compare_judges(run, source))
    return _smoke_test(run)  # its lines stand below the table


def _execute(run: RunDir, job: Job, retry_errors: bool, to_the_end: bool) -> Outcome:
    """Execute a job; what stops it is raised again with how to go on."""
    from runner.report.progress import observer

    try:
        return job.execute(run, observer(job.name), retry_errors=retry_errors, to_the_end=to_the_end)
    except KeyboardInterrupt:
        reason = f"interrupted. {next_step.go_on(run)}"
        print(reason, file=sys.stderr)
        raise Interrupted(reason) from None
    except Stopped as stop:
        reason = f"{stop}; what is finished is kept. {next_step.go_on(run)}"
        if str(stop) == "interrupted":
            print(reason, file=sys.stderr)
            raise Interrupted(reason) from None
        raise Stopped(reason) from None
    except Refused:
        raise
    except RunnerError as error:
        if run.rows_path.exists() and run.rows_path.stat().st_size:
            kept = RunnerError(f"{str(error).rstrip('.')}; what is finished is kept. {next_step.go_on(run)}")
            kept.exit_code = error.exit_code
            raise kept from error
        raise
    except Exception:
        logging.getLogger("runner").exception("a bug; please report it with this file")
        raise


def _smoke_test(run: RunDir, *, show: bool = False) -> int:
    """Return the exit code of a run by the smoke test of its benchmark; 0 where it has none."""
    from runner.analysis.smoke import smoke_of
    from runner.report.smoke import smoke_lines

    smoke = smoke_of(run)
    for line in smoke_lines(smoke) if smoke and show else ():
        print(line)
    return smoke.exit_code if smoke else 0
