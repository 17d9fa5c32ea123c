"""Scenarios made of a scenario file: events in prose and in time order, and the variants with their distractors."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from runner.errors import DatasetError
from runner.harness._base.draw import Draw
from runner.harness.handoff.filler import POOL_VERSION, idle
from runner.harness.handoff.scenario_file import EventSpec, ScenarioSpec
from runner.harness.handoff.score import collapsed
from runner.types import Checkpoint, Event, Gold, Question, Scenario

VERSION: Final = f"1.{POOL_VERSION}"  # of everything here that shapes events and questions
SETS: Final = (1, 2)  # of distractors
CATEGORIES: Final = {"1": "continuity", "2": "memory", "3": "durability", "v": "variant"}
VARIANT: Final = "v"
_OF_FAMILY: Final = {name: key for key, name in CATEGORIES.items()}
# A draw comes from the first entries of the pool and goes on only where these do not suffice, so that scenarios share
# texts and an embedding model reads each once.
_SHARED: Final = 320
_DAY: Final = (8, 19)  # hours in which people work
_TRIES: Final = 20  # entries looked at for each that is kept


def prose_of(event: EventSpec, project: str) -> str:
    """Return an event in prose; nothing is left out, whatever its kind.

    Parameters
    ----------
    event
        As written.
    project
        What it belongs to; empty for nothing.
    """
    parts = [f"[{project}]"] if project else []
    if event.kind == "checkpoint":
        parts.append("Checkpoint.")
        for head, items in (
            ("Task", [event.task]),
            ("Decided", event.decisions),
            ("Ruled out, did not work", event.failed),
            ("Open questions", event.questions),
            ("Next", [event.next]),
        ):
            said = "; ".join(item.strip().rstrip(".;") for item in items if item.strip())
            if said:
                parts.append(f"{head}: {said}{'' if said.endswith(('?', '!')) else '.'}")
    elif event.kind == "doc":
        parts.append(f"Document '{event.title}':" if event.title else "Document:")
    elif event.kind != "message":
        parts.append(f"{event.kind.capitalize()}:")
    text = event.text.strip()
    return " ".join([*parts, text] if text else parts)


def with_actor(event: EventSpec, spec: ScenarioSpec) -> str:
    """Return an event as a store may: who, then what."""
    return f"{event.actor}: {prose_of(event, _project(event, spec))}"


@dataclass(frozen=True)
class _Placed:
    """An event without an id, and its text as facts are looked for in it."""

    event: Event
    said: str

    @property
    def time(self) -> datetime:
        assert self.event.time is not None
        return self.event.time


def stamp(time: datetime) -> str:
    """Return the time of an event as a store may print it: a date may be gold as well."""
    return f"[{time:%d %B %Y, %H:%M}] [{time:%Y-%m-%d}]"


def scenarios(spec: ScenarioSpec, seed: int, *, wordings: bool = True, distractors: bool = True) -> Iterator[Scenario]:
    """Yield the scenario, then its variants with distractors.

    Parameters
    ----------
    spec
        The scenario.
    seed
        Of the harness: which distractors are drawn, and where they stand.
    wordings
        Ask the further wordings as well, of the history without distractors.
    distractors
        Add the variants, which ask the task as written.

    Raises
    ------
    DatasetError
        When a term of the gold is in nearly everything that people say.
    """
    base = [_placed(event, _project(event, spec)) for event in spec.events]
    taken: set[int] = set()
    base += _filler(spec, spec.haystack, Draw("handoff", VERSION, seed, spec.id, "haystack"), taken)
    asked = spec.asked if wordings else spec.asked[:1]
    yield _scenario(spec, spec.id, base, asked, 0)
    for number in SETS if distractors else ():
        draw = Draw("handoff", VERSION, seed, spec.id, number)
        more = _filler(spec, spec.distractors, draw, set(taken))
        yield _scenario(spec, f"{spec.id}+d{number}", [*base, *more], spec.asked[:1], number)


def _scenario(
    spec: ScenarioSpec, name: str, placed: Sequence[_Placed], asked: Sequence[str], distractors: int
) -> Scenario:
    # By time, whatever the order in the file; events of one minute keep that order. Ids are given last: they say
    # where an event stands and nothing of where it came from.
    ordered = sorted(placed, key=lambda item: item.time)
    events = tuple(replace(item.event, id=f"e{position:05d}") for position, item in enumerate(ordered))
    gold, query = _gold(spec, events, ordered), spec.query
    questions = tuple(
        Question(
            id=f"{name}/{index}",
            text=text,
            category=_OF_FAMILY[spec.family] if index == 0 and not distractors else VARIANT,
            gold=gold,
            now=spec.now,
            project=spec.project if query.project is None else query.project,
            agent=query.agent,
            budget=query.budget,
            tags={
                "family": spec.family,
                "skill": spec.skill,
                "expect": spec.expect,
                "scenario": spec.id,
                "wording": str(index),
                "distractors": str(distractors),
                "budget": str(query.budget),
            },
        )
        for index, text in enumerate(asked)
    )
    return Scenario(id=name, cluster=spec.id, events=events, questions=questions, drop_derived=spec.drop_derived)


def _gold(spec: ScenarioSpec, events: Sequence[Event], placed: Sequence[_Placed]) -> Gold:
    """Return the gold of a scenario. Its evidence, for the oracle, are the events that hold something to carry."""
    gold = spec.gold
    carry = tuple(fact.fact() for fact in gold.carry)
    answer = gold.answer or "; ".join(" ".join((*fact.any[:1], *fact.all)) for fact in carry)
    terms = [collapsed(item) for fact in carry for item in (*fact.any, *fact.all)]
    holding = (any(term in item.said for term in terms) for item in placed)
    return Gold(
        answers=(answer,) if answer and not gold.abstain else (),
        evidence=tuple(event.id for event, holds in zip(events, holding, strict=True) if holds),
        abstain=gold.abstain,
        carry=carry,
        avoid=tuple(fact.fact() for fact in gold.avoid),
        signal=tuple(fact.fact() for fact in gold.signal),
    )


def _project(event: EventSpec, spec: ScenarioSpec) -> str:
    return spec.project if event.project is None else event.project


def _placed(event: EventSpec, project: str) -> _Placed:
    checkpoint = None
    if event.kind == "checkpoint":
        checkpoint = Checkpoint(
            task=event.task,
            decisions=tuple(event.decisions),
            failed=tuple(event.failed),
            questions=tuple(event.questions),
            next=event.next,
        )
    text = prose_of(event, project)
    made = Event(
        id="",
        text=text,
        time=event.time,
        actor=event.actor,
        kind=event.kind,
        session=_session(event.time),
        project=project,
        title=event.title,
        checkpoint=checkpoint,
    )
    return _Placed(made, collapsed(f"{event.actor}: {text}"))


def _session(time: datetime) -> str:
    return f"{time:%Y-%m-%d}"


# --- filler --------------------------------------------------------------------------------------------------------


def _filler(spec: ScenarioSpec, count: int, draw: Draw, taken: set[int]) -> list[_Placed]:
    """Draw events of no consequence between the first and the last of the scenario, none with a term of its gold.

    ``taken`` are entries of the pool that the history has already; those drawn are added.
    """
    terms = [collapsed(term) for term in spec.gold.terms()]
    first, last = min(event.time for event in spec.events), max(event.time for event in spec.events)
    made: list[_Placed] = []
    tries = 0
    for entry in _entries(draw):
        if len(made) == count:
            break
        tries += 1
        if tries > _TRIES * (count + _SHARED):
            raise DatasetError(
                f"{spec.id}: a text of its gold is in nearly every filler event, so that no haystack can be made "
                f"without it; make any: and all: longer"
            )
        if entry in taken:
            continue
        item, time = _idle(entry), _between(first, last, draw)
        said = f"{collapsed(stamp(time))} {item.said}"
        if any(term in said for term in terms):
            continue
        taken.add(entry)
        made.append(_Placed(replace(item.event, time=time, session=_session(time)), item.said))
    return made


@lru_cache(maxsize=4096)
def _idle(entry: int) -> _Placed:
    item = idle(entry)
    return _placed(item, item.project or "")


@lru_cache(maxsize=1)
def pool_sha256() -> str:
    """Hash the entries that draws come from: a changed sentence is other data."""
    sha = hashlib.sha256()
    for entry in range(_SHARED):
        sha.update(f"{_idle(entry).event.actor}\0{_idle(entry).event.text}\0".encode())
    return sha.hexdigest()


def _entries(draw: Draw) -> Iterator[int]:
    """Yield entries of the pool in a drawn order, without end: the first few hundred, then as many again, and so on."""
    start = 0
    while True:
        yield from (start + item for item in draw.shuffled(range(_SHARED)))
        start += _SHARED


def _between(first: datetime, last: datetime, draw: Draw) -> datetime:
    """Draw a minute of a working day between two times."""
    span = max(1, int((last - first).total_seconds()) // 60)
    time = first.replace(second=0) + timedelta(minutes=draw.below(span + 1))
    start, end = _DAY
    if not start <= time.hour < end:
        time = time.replace(hour=start + time.hour % (end - start))
    return min(max(time, first), last)
