"""The format of a MemBench trajectory, parsed strictly: a stream of messages and the one question that ends it.

``{tid, message_list, QA {qid, question, answer, target_step_id, choices {A..D}, ground_truth, time}}``.

- Observation (ThirdAgent): messages ``{mid, message, time, place}``, a flat list or one session, targets that are
  numbers of steps. Participation (FirstAgent): sessions, each a list of ``{sid | mid, user_message | user,
  assistant_message | assistant, time, place}``, targets ``[step, session]``.
- The authors' sampled files have a flat list of texts, or of ``{user, agent}``, each with ``(place: …; time: …)`` at
  its end; in some of them the colon after ``time`` is missing.
- A step counts over the whole trajectory, from 0, as the published code counts it; where that names a step of another
  session than the target does, the number that the session's own messages bear is tried.
- ``rel``, ``attr``, ``value`` and ``name`` mark the messages that state a fact and say what it is. They are read to
  keep noise apart, and ingested never.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from runner.data.fields import FieldReader, kind
from runner.harness.membench.source import REFLECTIVE, RawTrajectory, agent_of

PARTICIPATION: Final = "participation"
OBSERVATION: Final = "observation"
LETTERS: Final = ("A", "B", "C", "D")

_MEANT: Final = "a published MemBench file"
_VIEW: Final = {"FirstAgent": PARTICIPATION, "ThirdAgent": OBSERVATION}
_SAID: Final = ("message", "user_message", "user", "assistant_message", "assistant", "agent")
_READ: Final = frozenset({*_SAID, "mid", "sid", "time", "place"})
_LABELS: Final = frozenset({"rel", "attr", "value", "name"})
_TRAJECTORY: Final = frozenset({"tid", "gid", "message_list", "QA"})
_QA: Final = frozenset({"qid", "question", "answer", "target_step_id", "choices", "ground_truth", "time"})
_TIME: Final = re.compile(r"'?(\d{4})-(\d{2})-(\d{2}) (\d{2}):(\d{2})(?::(\d{2}))?'?(?: ([A-Z][a-z]+))?")
_TAIL: Final = re.compile(r"\s*\(place: ([^()]*?); ?time:? ?([^()]*)\)\s*$")
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True)
class Step:
    """One memory as the published code stores it. ``text`` is empty where nothing was said."""

    text: str  # without place and time
    place: str
    time: datetime | None
    session: int
    own: int | None  # the number that the message bears
    subject: str  # of the fact that it states, where it is marked


@dataclass(frozen=True)
class Trajectory:
    """One question and the stream that it is asked of."""

    name: str  # <view>/<task>/<topic>/<number>
    view: str
    task: str
    topic: str
    user: str  # the file's tid: the simulated user, the same in every file
    steps: tuple[Step, ...]
    targets: tuple[int, ...]  # steps that hold the answer
    unresolved: tuple[str, ...]  # targets that name no step
    question: str
    now: datetime | None
    options: Mapping[str, str]
    letter: str
    met: Counter[str]  # traps, and how often

    @property
    def reflective(self) -> bool:
        return self.task in REFLECTIVE

    @property
    def subjects(self) -> frozenset[str]:
        """Subjects of the facts that answer the question, where the messages name them."""
        return frozenset(self.steps[number].subject for number in self.targets) - {""}


def view_of(raw: RawTrajectory) -> str:
    """Return participation or observation, by the first message that there is.

    Raises
    ------
    DatasetError
        When there is none, or the file's name or folder says otherwise.
    """
    where = _where(raw)
    item = where.mapping(raw.value, None, ("message_list",))
    messages = where.at(", message_list").list(item["message_list"])
    first = next((part for part in messages if part != []), None)
    if isinstance(first, list):
        first = first[0]
    if isinstance(first, str) or (isinstance(first, dict) and "message" in first):
        view = OBSERVATION
    elif isinstance(first, dict) and any(key in first for key in _SAID):
        view = PARTICIPATION
    else:
        raise where.fail("message_list holds no message" if first is None else "its first message says nothing")
    agent = agent_of(raw.path)
    if agent and _VIEW[agent] != view:
        raise where.fail(f"it is a trajectory of {view}, but the file is {agent}'s")
    return view


def name_of(view: str, raw: RawTrajectory) -> str:
    return "/".join(part for part in (view, raw.task, raw.topic, str(raw.number)) if part)


def parse(raw: RawTrajectory) -> Trajectory:
    """Parse one trajectory.

    Raises
    ------
    DatasetError
        On anything that the format does not have. Fields that are not known are not read, and counted.
    """
    view = view_of(raw)
    where = _where(raw)
    met: Counter[str] = Counter()
    item = where.mapping(raw.value, None, ("message_list", "QA"))
    met.update(f"unknown field '{key[:40]}' of a trajectory, not read" for key in item.keys() - _TRAJECTORY)
    steps = _steps(where.at(", message_list"), item["message_list"], view, met)
    where = where.at(", QA")
    qa = where.mapping(item["QA"], None, ("question", "choices", "ground_truth"))
    met.update(f"unknown field '{key[:40]}' of a question, not read" for key in qa.keys() - _QA)
    options = _options(where.at(", choices"), qa["choices"], met)
    letter = qa["ground_truth"]
    if letter not in LETTERS:
        raise where.fail(f"ground_truth is {str(letter)[:40]!r}, not one of {', '.join(LETTERS)}")
    met["right choice that stands under another letter as well"] += list(options.values()).count(options[letter]) > 1
    if "answer" in qa:
        met["answer that is not the choice of its letter"] += _spelled(where, qa["answer"]) != options[letter]
    targets, unresolved = _targets(where.at(", target_step_id"), qa.get("target_step_id"), steps, met)
    now = _time(where.at(", time"), qa.get("time"), met)
    met["question without a time"] += now is None
    late = sum(step.time > now for step in steps if step.time is not None) if now else 0
    met["message later than the question"] += late
    times = [step.time for step in steps if step.time is not None]
    met["messages not in time order in the file"] += times != sorted(times)
    met["fact marked on its message, not ingested"] += sum(bool(step.subject) for step in steps)
    number = item.get("tid", item.get("gid"))
    met["trajectory without a tid"] += number is None
    user = name_of(view, raw) if number is None else _where(raw).at(", tid").answer(number)[:100]
    name = name_of(view, raw)
    return Trajectory(
        name=name,
        view=view,
        task=raw.task,
        topic=raw.topic,
        user=user,
        steps=steps,
        targets=targets,
        unresolved=unresolved,
        question=where.at(", question").text(qa["question"]),
        now=now,
        options=options,
        letter=letter,
        met=+met,
    )


def _where(raw: RawTrajectory) -> FieldReader:
    return FieldReader(f"{raw.path.name} {'/'.join((raw.task, raw.topic, str(raw.number)))[:100]}", _MEANT)


def _steps(where: FieldReader, value: object, view: str, met: Counter[str]) -> tuple[Step, ...]:
    parts = where.list(value)
    nested = [isinstance(part, list) for part in parts]
    if any(nested) != all(nested):
        raise where.fail("sessions and messages stand side by side")
    sessions = parts if any(nested) else [parts]
    steps = [
        _step(where.at(f", session {at}, message {number}"), message, at, view, met)
        for at, session in enumerate(sessions)
        for number, message in enumerate(session)
    ]
    met["empty message, left out"] += sum(not step.text for step in steps)
    met["message without a time"] += sum(step.time is None for step in steps)
    restarts = len({(step.session, step.own) for step in steps}) > len({step.own for step in steps})
    met["message numbers that restart in every session"] += restarts
    return tuple(steps)


def _step(where: FieldReader, value: Any, session: int, view: str, met: Counter[str]) -> Step:
    if isinstance(value, str):
        text, place, time = _tail(where, value, met)
        return Step(text.strip(), place, time, session, None, "")
    item = where.mapping(value, None, ())
    met.update(f"unknown field '{str(key)[:40]}' of a message, not read" for key in item.keys() - _READ - _LABELS)
    spoken = [(key, where.at(f", {key}").text(item[key], empty=True)) for key in _SAID if item.get(key) is not None]
    if not spoken or (view == OBSERVATION) != (spoken[0][0] == "message") or len(spoken) > 2:
        fields = ", ".join(key for key, _ in spoken) or "nothing said"
        raise where.fail(f"it has {fields}, which is no message of {view}")
    texts, place, time = [], "", None
    for key, said in spoken:
        text, found, when = _tail(where, said, met)
        place, time = place or found, time or when
        if text.strip():
            speaker = "" if key == "message" else "user: " if key.startswith("user") else "assistant: "
            texts.append(speaker + text.strip())
    if item.get("place") is not None:
        place = where.at(", place").text(item["place"], empty=True).strip()
    own = item.get("mid", item.get("sid"))
    subject = item.get("rel", item.get("name"))
    return Step(
        text="\n".join(texts),
        place=place,
        time=_time(where.at(", time"), item.get("time"), met) or time,
        session=session,
        own=own if type(own) is int else int(own) if isinstance(own, str) and own.isdecimal() else None,
        subject=subject if isinstance(subject, str) else "",
    )


def _tail(where: FieldReader, text: str, met: Counter[str]) -> tuple[str, str, datetime | None]:
    """Split a text from the place and time at its end."""
    match = _TAIL.search(text)
    if match is None:
        return text, "", None
    return text[: match.start()], match[1].strip(), _time(where, match[2], met)


def _time(where: FieldReader, value: object, met: Counter[str]) -> datetime | None:
    if value is None or value == "":
        return None
    match = _TIME.fullmatch(where.text(value).strip())
    try:
        if match is None:
            raise ValueError
        year, month, day, hour, minute, second = (int(match[group] or 0) for group in range(1, 7))
        found = datetime(year, month, day, hour, minute, second)
    except ValueError:
        raise where.fail(f"the time {str(value)[:40]!r} is not like \"'2024-10-01 08:00' Tuesday\"") from None
    met["weekday that is not the date's"] += match[7] not in (None, _DAYS[found.weekday()])
    return found


def _options(where: FieldReader, value: object, met: Counter[str]) -> dict[str, str]:
    choices = where.mapping(value, LETTERS, LETTERS)
    options = {letter: _spelled(where.at(f" {letter}"), choices[letter]) for letter in LETTERS}
    met["choice that is empty"] += sum(text == _NOTHING for text in options.values())
    return options


_NOTHING: Final = "(nothing)"


def _spelled(where: FieldReader, value: object) -> str:
    """Return a choice on one line, whatever its type in the file."""
    if isinstance(value, list):
        return ", ".join(_spelled(where, part) for part in value) or _NOTHING
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise where.fail(f"expected text, a number or a list of them, found {kind(value)}")
    return " ".join(str(value).split()) or _NOTHING


def _targets(
    where: FieldReader, value: object, steps: Sequence[Step], met: Counter[str]
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the steps that hold the answer, and the targets that name no step."""
    found: dict[int, None] = {}
    unresolved = []
    named = [] if value is None else [value] if type(value) is int else where.list(value)
    for target in named:
        number = _resolved(where, target, steps, met)
        if number is None or not steps[number].text:
            unresolved.append(str(target))
        elif number in found:
            met["target named twice"] += 1
        else:
            found[number] = None
    met["question without a target"] += not named
    return tuple(found), tuple(unresolved)


def _resolved(where: FieldReader, target: object, steps: Sequence[Step], met: Counter[str]) -> int | None:
    pair = target if isinstance(target, list) and len(target) == 2 else [target, None]
    step, session = pair
    if type(step) is not int or not (session is None or type(session) is int):
        raise where.fail(f"{str(target)[:40]} is neither a step nor [step, session]")
    if 0 <= step < len(steps) and session in (None, steps[step].session):
        met["message whose number is not that of its step"] += session is None and steps[step].own not in (None, step)
        return step
    own = [at for at, item in enumerate(steps) if session == item.session and item.own == step]
    if session is not None and len(own) == 1:
        met["target counted inside its session"] += 1
        return own[0]
    return None
