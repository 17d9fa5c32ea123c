"""A benchmark's code held to its contract, since a person's own code may do anything.

The class is checked when it is looked up, its scenarios as they stream. A fault of the code becomes one line with the
place in the file.
"""

from __future__ import annotations

import logging
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from runner.errors import ConfigError, DatasetError, MissingExtra, Remedy, RunnerError
from runner.types import Event, Gold, Metric, Question, Scenario

if TYPE_CHECKING:
    from runner.harness._base.contract import Harness

log = logging.getLogger("runner")

_REQUIRED: Final = ("name", "categories", "comparable", "cluster")  # attributes of the class that have no default
_WRITTEN: Final = ("read", "dataset", "score_retrieval")  # methods that every benchmark has of its own
_SHOWN: Final = 160  # characters of what an exception says
_ADVICE: Final = {
    Remedy.AGAIN: "; download it again, or give another copy with harness.dataset.path=FILE",
    Remedy.MENDED: "; export it again as UTF-8, mended, or give another copy with harness.dataset.path=FILE",
    Remedy.OTHER: "; give another copy with harness.dataset.path=FILE",
    Remedy.FOREIGN: " (harness.dataset.path=FILE names another copy)",
    Remedy.READABLE: "; make it readable, or give another copy with harness.dataset.path=FILE",
    Remedy.STATED: "",
}


def class_problems(kind: type[Harness], name: str) -> list[str]:
    """Return what the class of a harness lacks; empty when it has all.

    Parameters
    ----------
    name
        Name of the module, which the class must bear.
    """
    missing = [attribute for attribute in _REQUIRED if not hasattr(kind, attribute)]
    if missing:
        examples = {"categories": '{"1": "all"}', "comparable": 'frozenset({"1"})', "cluster": '"conversation"'}
        examples["name"] = repr(name)
        return [
            f"harness '{name}': {kind.__name__} has no '{attribute}' ({attribute} = {examples[attribute]})"
            for attribute in missing
        ]
    from runner.harness._base.contract import Harness as Base

    unwritten = [step for step in _WRITTEN if getattr(kind, step) is getattr(Base, step)]
    if unwritten:
        return [f"harness '{name}': {kind.__name__} does not write {', '.join(f'{step}()' for step in unwritten)}"]
    if kind.name != name:
        return [f"harness '{name}': {kind.__name__}.name is {kind.name!r}; it is the name of its file, {name!r}"]
    return _metric_problems(kind, name)


def _metric_problems(kind: type[Harness], name: str) -> list[str]:
    """Return what is wrong with the declarations of the metrics; those that only an instance has are not looked at."""
    declared: Any = kind.metrics
    if isinstance(declared, property):
        return []
    where, example = f"harness '{name}': {kind.__name__}.metrics", 'metrics = (Metric("quotes", share=True),)'
    if not isinstance(declared, tuple) or not all(isinstance(metric, Metric) for metric in declared):
        return [f"{where} is a tuple of runner.types.Metric ({example})"]
    try:
        msgspec.convert(msgspec.to_builtins(declared), tuple[Metric, ...])
    except (msgspec.MsgspecError, TypeError) as error:
        return [f"{where} cannot be recorded ({error}); mend it ({example})"]
    twice = [metric for metric, n in Counter(metric.name for metric in declared).items() if n > 1]
    return [f"{where} has '{twice[0]}' twice; keep one of them"] if twice else []


def scenario_problem(harness: Harness, scenario: Scenario) -> str | None:
    """Return the first problem of a scenario that would break something downstream; ``None`` when there is none."""
    ids: set[str] = set()
    last: datetime | None = None
    events: tuple[Any, ...] = scenario.events  # what they are said to be, which a person's own code may not keep to
    for event in events:
        if not isinstance(event, Event):
            return f"scenario '{scenario.id}': events are of type Event, and one is {type(event).__name__}"
        named: tuple[Any, ...] = (event.id, event.text)
        if not all(isinstance(item, str) for item in named):
            return f"scenario '{scenario.id}': id and text of an event are texts"
        if event.id in ids:
            return f"scenario '{scenario.id}': two events have the id '{event.id}'"
        ids.add(event.id)
        if event.time is not None:
            time: Any = event.time
            if not isinstance(time, datetime):
                return f"event '{event.id}': its time is a datetime, and not {type(time).__name__}"
            if last is not None and event.time < last:
                return (
                    f"scenario '{scenario.id}': events come in time order, and '{event.id}' is before the one above it"
                )
            last = event.time
    for question in scenario.questions:
        problem = _question_problem(harness, question, ids, bool(scenario.existing))
        if problem is not None:
            return f"question '{question.id}': {problem}"
    return None


def _question_problem(harness: Harness, question: Question, ids: set[str], existing: bool) -> str | None:
    gold: Any = question.gold
    now: Any = question.now
    if not isinstance(gold, Gold):
        return f"gold is of type Gold, and not {type(gold).__name__}"
    for name in ("answers", "evidence", "points", "sessions"):
        value: Any = getattr(gold, name)
        if not isinstance(value, tuple) or not all(isinstance(item, str) for item in value):
            return f"gold.{name} is a tuple of texts, and not {value!s:.60}"
    if now is not None and not isinstance(now, datetime):
        return f"now is a datetime, and not {now!s:.60}"
    if question.category not in harness.categories:
        return f"its category {question.category!r} is none of {', '.join(harness.categories)}"
    for name, known in (("rule", harness.rules), ("prompt", harness.prompts), ("rubric", harness.rubrics)):
        chosen = getattr(question, name)
        if chosen and chosen not in known:
            return f"its {name} '{chosen}' is not among the {name}s of the class ({', '.join(known) or 'none'})"
    strange = None if existing else next((item for item in gold.evidence if item not in ids), None)
    return None if strange is None else f"its evidence '{strange}' is no event of the scenario"


@contextmanager
def own_code(name: str, step: str) -> Iterator[None]:
    """Turn an exception of a harness's own code into one line with its place.

    Raises
    ------
    ConfigError
        In place of anything but a :class:`RunnerError`.
    """
    try:
        yield
    except RunnerError:
        raise
    except Exception as error:
        log.exception("harness %s: %s", name, step)
        message = " ".join(str(error).split())[:_SHOWN]
        raise ConfigError(
            [f"harness '{name}': {step} failed: {type(error).__name__}: {message} ({place_of(error)})"]
        ) from error


def advised(error: DatasetError) -> str:
    """Return a fault of a benchmark's data with what to type next behind it."""
    return f"{error}{_ADVICE[error.remedy]}"


@contextmanager
def faults_of(name: str) -> Iterator[None]:
    """Name the benchmark before whatever is wrong with its data, and say what to type; once, however often entered.

    The readers below know neither: :mod:`runner.data` serves imports as well.

    Raises
    ------
    DatasetError, MissingExtra
        As they were raised, with name and advice.
    """
    try:
        yield
    except MissingExtra as error:
        if error.what.startswith("harness "):
            raise
        raise MissingExtra(f"harness '{name}' ({error.what})", error.extra) from None
    except DatasetError as error:
        if str(error).startswith(f"{name}: "):
            raise
        raise DatasetError(f"{name}: {advised(error)}") from error.__cause__


def place_of(error: BaseException) -> str:
    """Return file and line where an exception arose, by its last frame."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "unknown place"
