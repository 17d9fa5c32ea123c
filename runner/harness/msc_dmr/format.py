"""The format of MSC-Self-Instruct, parsed strictly: five sessions of two people, and one question about them.

Layout (MemGPT/MSC-Self-Instruct): JSONL of ``{personas, dialog [{text, id}], metadata {initial_data_id}, init_personas,
personas_update1, personas_update2, previous_dialogs [4] {personas, dialog [{text}], time_num, time_unit, time_back},
self_instruct {B, A}, summary_speaker_1, summary_speaker_2}``. ``dialog`` is the fifth session.

- Personas (the row's and every session's) and summaries hold answers and are never read.
- A turn of an earlier session names no speaker: they alternate, Speaker 1 first, as ParlAI's own reader of
  Multi-Session Chat has them. The fifth session names its speakers.
- ``time_num`` and ``time_unit`` are the time from a session to the next one (ParlAI puts them there); ``time_back``
  says in words how long ago the session was, and is only held against their sum.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from runner.data.fields import FieldReader
from runner.data.jsonl import json_lines

SPEAKERS: Final = ("Speaker 1", "Speaker 2")
CURRENT: Final = 5  # number of the session that `dialog` is, where four came before

_MEANT: Final = "the published MSC-Self-Instruct file"
_REQUIRED: Final = ("previous_dialogs", "dialog", "self_instruct")
_KNOWN: Final = frozenset(
    (
        *_REQUIRED,
        *("personas", "metadata", "init_personas", "personas_update1", "personas_update2"),
        *("summary_speaker_1", "summary_speaker_2"),
    )
)
_SESSION: Final = frozenset({"personas", "dialog", "time_num", "time_unit", "time_back"})
_HOURS: Final = {"hour": 1, "day": 24, "week": 7 * 24, "month": 30 * 24, "year": 365 * 24}
_FARTHEST: Final = timedelta(days=1000 * 365)  # no calendar goes back farther than it must
_BACK: Final = re.compile(r"(\d+)\s+(hour|day|week|month|year)s?\b")


@dataclass(frozen=True, slots=True)
class Turn:
    id: str  # <session>/<number from 1 in the file's session>
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Session:
    name: str  # s1 is the first
    before: timedelta  # how long before the last session
    turns: tuple[Turn, ...]  # those that say something


@dataclass(frozen=True)
class MscRow:
    """One row. Speaker 2 asks ``question`` (B in the file) and Speaker 1 (A) answers ``gold``."""

    conversation: str  # initial_data_id; empty where the row has none
    sessions: tuple[Session, ...]  # in time order, the current one last
    question: str
    gold: str
    met: Counter[str]  # traps, and how often


def read_rows(path: Path) -> Iterator[MscRow]:
    """Yield the rows of the file, in its order; memory is that of one row.

    Raises
    ------
    DatasetError
        When the file cannot be read, or a field that is read is missing or of another kind. Fields that are not known
        are not read, and counted.
    """
    return (_row(FieldReader(f"line {number}", _MEANT), value) for number, value in json_lines(path))


def _row(where: FieldReader, value: object) -> MscRow:
    row = where.mapping(value, None, _REQUIRED)
    met: Counter[str] = Counter(f"unknown field '{key[:40]}', not read" for key in row if key not in _KNOWN)
    earlier = where.at(", previous_dialogs").list(row["previous_dialogs"])
    met[f"row with {len(earlier)} earlier sessions, not {CURRENT - 1}"] += len(earlier) != CURRENT - 1
    spoken = where.at(", self_instruct").mapping(row["self_instruct"], None, ("B", "A"))
    parsed = MscRow(
        conversation=_conversation(row.get("metadata")),
        sessions=(*_earlier(where, earlier, met), _current(where, row["dialog"], len(earlier) + 1, met)),
        question=where.at(", self_instruct.B").text(spoken["B"]).strip(),
        gold=where.at(", self_instruct.A").text(spoken["A"]).strip(),
        met=met,
    )
    if not any(session.turns for session in parsed.sessions):
        raise where.fail("no session says anything")
    met["row without an initial_data_id, a cluster of its own"] += not parsed.conversation
    return parsed


def _conversation(metadata: object) -> str:
    name = metadata.get("initial_data_id") if isinstance(metadata, dict) else None
    return str(name).strip() if isinstance(name, str | int) and not isinstance(name, bool) else ""


def _earlier(where: FieldReader, values: Sequence[object], met: Counter[str]) -> list[Session]:
    """Return the sessions before the current one, each as long before it as the gaps after it add up to."""
    gaps: list[timedelta] = []
    raw: list[dict[str, Any]] = []
    for place, value in enumerate(values, start=1):
        here = where.at(f", previous_dialogs {place}")
        session = here.mapping(value, None, ("dialog", "time_num", "time_unit"))
        met.update(f"unknown field '{key[:40]}' of a session, not read" for key in session if key not in _SESSION)
        gaps.append(_gap(here, session["time_num"], session["time_unit"]))
        raw.append(session)
    found = []
    for place, session in enumerate(raw, start=1):
        before = sum(gaps[place - 1 :], timedelta())
        if before > _FARTHEST:
            raise where.at(f", previous_dialogs {place}").fail(f"it lies {before.days} days back")
        stated = _time_back(session.get("time_back"))
        met["time_back that is not the sum of the gaps after it"] += stated is not None and stated != before
        met["time_back that says no time"] += stated is None
        name = f"s{place}"
        here = where.at(f", previous_dialogs {place}")
        found.append(Session(name, before, _turns(here, name, session["dialog"], met)))
    return found


def _current(where: FieldReader, value: object, place: int, met: Counter[str]) -> Session:
    turns = _turns(where.at(", dialog"), f"s{place}", value, met)
    met["turn of the current session that names no speaker, taken to alternate"] += sum(
        turn.get("id") is None for turn in where.list(value)
    )
    met["current session that Speaker 2 begins"] += bool(turns) and turns[0].speaker == SPEAKERS[1]
    speakers = [turn.speaker for turn in turns]
    met["current session in which one speaker has two turns in a row"] += any(
        one == other for one, other in pairwise(speakers)
    )
    return Session(f"s{place}", timedelta(), turns)


def _turns(where: FieldReader, session: str, value: object, met: Counter[str]) -> tuple[Turn, ...]:
    turns = []
    for number, entry in enumerate(where.list(value), start=1):
        here = where.at(f", turn {number}")
        turn = here.mapping(entry, None, ("text",))
        text = here.text(turn["text"], empty=True).strip()
        speaker = turn.get("id")
        if speaker is None:
            speaker = SPEAKERS[(number - 1) % 2]
        elif speaker not in SPEAKERS:
            raise here.fail(f"unknown speaker {str(speaker)[:40]!r}")
        if text:
            turns.append(Turn(f"{session}/{number}", speaker, text))
        else:
            met["empty turn, left out"] += 1
    met["empty session"] += not turns
    return tuple(turns)


def _gap(where: FieldReader, number: object, unit: object) -> timedelta:
    """Return the time to the next session; months are 30 days and years 365, as no calendar is given."""
    name = unit.strip().lower().removesuffix("s") if isinstance(unit, str) else ""
    if type(number) is not int or not 0 <= number < 10_000 or name not in _HOURS:
        raise where.fail(
            f"the time to the next session is {str(number)[:20]!r} {str(unit)[:20]!r}, and not a number of "
            f"{', '.join(f'{item}s' for item in _HOURS)}"
        )
    return timedelta(hours=number * _HOURS[name])


def _time_back(back: object) -> timedelta | None:
    """Return what ``time_back`` says ("14 days 5 hours ago"); ``None`` when it says nothing that is understood."""
    parts = _BACK.findall(back.lower()) if isinstance(back, str) else []
    if not parts or any(len(number) > 4 for number, _ in parts):
        return None
    return timedelta(hours=sum(int(number) * _HOURS[unit] for number, unit in parts))
