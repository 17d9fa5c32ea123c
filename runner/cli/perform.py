"""One run from the command line, new or resumed: prepare, claim, execute, tell."""

from __future__ import annotations

import logging
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from runner.cli import folders
from runner.config import Experiment, cache_dir, load
from runner.errors import ConfigError, Refused, RunnerError, Stopped
from runner.record.rundir import RunDir
from runner.safe import mask, printable


class Interrupted(Stopped):
    """Ctrl-C, after everything in flight was written."""


def anchored(values: dict[str, Any]) -> dict[str, Any]:
    """The config with its file paths made absolute, so that a run can be resumed from any folder."""

    def absolute(path: Any) -> Any:
        return str(Path(path).expanduser().absolute()) if isinstance(path, str) and path else path

    harness, run = values.get("harness"), values.get("run")
    if isinstance(harness, dict):
        dataset = harness.get("dataset")
        if isinstance(dataset, dict) and "path" in dataset:
            dataset["path"] = absolute(dataset["path"])
        if isinstance(harness.get("patches"), list):
            harness["patches"] = [absolute(item) for item in harness["patches"]]
    if isinstance(run, dict) and "prices" in run:
        run["prices"] = absolute(run["prices"])
    for model in (values.get("reader"), values.get("judge")):
        for key in ("prompt", "rubric", "abstain_rubric"):
            # A bare name is one of conf/; a path is a file of one's own.
            if isinstance(model, dict) and isinstance(model.get(key), str) and Path(model[key]).is_file():
                model[key] = absolute(model[key])
    return values


def start(run: RunDir, values: dict[str, Any]) -> int:
    """Begin a new run in an empty directory.

    Raises
    ------
    RunnerError
        Whatever stopped it; what is finished is on disk.
    """
    from runner.experiment import prepare

    try:
        values = anchored(values)
        experiment = load(values)
        ready = prepare(experiment)
        _require_models(experiment)
    except RunnerError:
        _remove_if_empty(run.path)
        raise
    run.create(experiment.model_dump(mode="json"), cache_dir())  # every key with its value, defaults included
    try:
        return _perform(run, experiment, ready)
    finally:
        run.release()


def finish(run: RunDir, *, retry_errors: bool = False, trust: bool = False) -> int:
    """Go on with a recorded run; a finished one costs nothing.

    Raises
    ------
    Refused
        When the record is not one that this person's runner wrote and would run a command or send a key, and ``trust``
        is not given.
    """
    if run.finished() and not retry_errors:
        print(f"{shown(run.path)}: finished already, nothing to do")
        return 0
    from runner.experiment import prepare

    experiment = run.experiment()
    if not trust and not run.sealed(cache_dir()):
        refuse_strange(run.path, experiment)
    _require_models(experiment)
    run.claim()
    try:
        return _perform(run, experiment, prepare(experiment), retry_errors=retry_errors)
    finally:
        run.release()


def refuse_strange(path: Path, experiment: Experiment) -> None:
    """A record from elsewhere, or an edited one, may name any command and any server.

    Raises
    ------
    Refused
        When to go on would run a command or send a key.
    """
    acts = list(_acts(experiment.model_dump(mode="json")))
    if acts:
        raise Refused(
            f"{shown(path)}: this record was made elsewhere or edited; to resume would {' and '.join(acts)}. "
            f"If that is what you want: {resume_line(path)} --trust"
        )


def _acts(value: Any, place: str = "") -> Iterator[str]:
    """What a config would do outside this process: every model that it holds, a reader, a judge or an arm's own."""
    if not isinstance(value, dict):
        return
    if value.get("provider") == "command":
        yield f"run the command {' '.join(map(str, value.get('command') or ()))!r} ({place})"
    elif value.get("provider") == "openai":
        where = value.get("base_url") or "the default endpoint"
        yield f"send data and ${value.get('api_key_env') or 'no key'} to {where} ({place})"
    for key, item in value.items():
        yield from _acts(item, f"{place}.{key}" if place else str(key))


def _require_models(experiment: Experiment) -> None:
    from runner.llm import require

    problems: list[str] = []
    for model in (experiment.reader, experiment.judge):
        try:
            require(model)
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)


def _perform(run: RunDir, experiment: Experiment, ready: Any, *, retry_errors: bool = False) -> int:
    from runner.experiment import execute
    from runner.llm import override_warning
    from runner.report.console import console, error_console
    from runner.report.progress import observer
    from runner.report.run import headline, run_table

    for model in (experiment.reader, experiment.judge):
        warning = override_warning(model)
        if warning:
            error_console().print(f"warning: {warning}", style="yellow", markup=False, highlight=False)
    print(headline(ready, shown(run.path)))
    with _logging(run):
        try:
            outcome = execute(
                run, ready, observer(experiment.arm.name), cache_dir=cache_dir(), retry_errors=retry_errors
            )
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
    summary = run.summary()
    if summary and summary["rows"] and summary["errors"] == summary["rows"]:
        first = next(iter(summary["samples"].values()), "")
        raise RunnerError(
            f"no question was scored, all {summary['rows']} failed ({first}); mend the cause, then: "
            f"{resume_line(run.path)} --retry-errors"
        )
    if outcome.state != "complete":
        print(f"incomplete. {_go_on(run)}", file=sys.stderr)
        return 1
    return 0


def resume_line(path: Path) -> str:
    """The command that goes on with a run or a sweep, with the person's own folders."""
    mine = "".join(f" --config-dir {shlex.quote(shown(folder))}" for folder in folders.added)
    return f"python -m runner resume {shlex.quote(shown(path))}{mine}"


def _go_on(run: RunDir) -> str:
    changed = " (after a change to your own system's code, start a new run)" if folders.added else ""
    return f"Go on with: {resume_line(run.path)}{changed}"


@contextmanager
def _logging(run: RunDir) -> Iterator[None]:
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


def shown(path: Path) -> str:
    """A path as a person would type it from here."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _remove_if_empty(path: Path) -> None:
    """A run that never started leaves no empty folder behind."""
    for folder in (path, path.parent):
        try:
            folder.rmdir()
        except OSError:
            return
