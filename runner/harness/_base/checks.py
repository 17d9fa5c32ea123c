"""Scenarios held to what the rest of the runner relies on, since a person's own code may do anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol

from runner import lookup
from runner.data.fields import MAX_ID
from runner.errors import DatasetError
from runner.harness._base.faults import place_of
from runner.types import Event, Gold, Question, Scenario

_HOME: Final = Path(__file__).resolve().parents[1]


class HarnessDeclarations(Protocol):
    """The part of a harness that its scenarios are checked against."""

    categories: ClassVar[Mapping[str, str]]
    rules: ClassVar[tuple[str, ...]]
    prompts: ClassVar[tuple[str, ...]]
    rubrics: ClassVar[tuple[str, ...]]

    def read(self) -> Iterator[Scenario]: ...


def checked_scenarios(harness: HarnessDeclarations) -> Iterator[Scenario]:
    """Yield every scenario of a benchmark, checked.

    Raises
    ------
    DatasetError
        When the data cannot be read as the harness expects it, or holds ids or text that cannot be recorded.
    """
    try:
        for scenario in harness.read():
            problem = scenario_problem(harness, scenario)
            if problem is not None:
                raise DatasetError(f"{' '.join(problem.split())}; mend the harness or its data")
            clusters = (question.cluster for question in scenario.questions if question.cluster)
            asked_ids = (question.id for question in scenario.questions)
            groups = (name for q in scenario.questions for name in (q.category, *q.tags.values()))
            for item in (scenario.id, scenario.cluster, *asked_ids, *clusters, *groups):
                if not item or len(item.encode("utf-8", "replace")) > MAX_ID or not item.isprintable():
                    raise DatasetError(
                        f"the id {item[:40]!r} is empty, longer than {MAX_ID} bytes or not printable; mend the data"
                    )
            texts = (event.text for event in scenario.events)
            asked = (text for q in scenario.questions for text in (q.id, q.text, *q.gold.answers))
            for text in (scenario.id, *texts, *asked):
                text.encode()  # a lone surrogate, as a careless export writes it, is not text
            yield scenario
    except UnicodeEncodeError as error:
        raise DatasetError(
            f"the data holds half of a character ({error.object[error.start]!r}); export it again as UTF-8"
        ) from None
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
        reason = (str(error).splitlines() or [""])[0][:120]
        own = not lookup.is_within(type(harness), _HOME)  # a person's own code, which may be at fault
        where = f", {place_of(error)}" if own else ""
        raise DatasetError(f"the data is not understood ({type(error).__name__}: {reason}{where})") from error


def scenario_problem(harness: HarnessDeclarations, scenario: Scenario) -> str | None:
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


def _question_problem(harness: HarnessDeclarations, question: Question, ids: set[str], existing: bool) -> str | None:
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
