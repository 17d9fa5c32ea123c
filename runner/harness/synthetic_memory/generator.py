"""The generator behind ``synthetic_memory``: one scenario from (seed, index), independent of every other.

Only ``Random.random`` is drawn from, seeded by a sha256: of the standard generator's methods it is the one whose
stream Python promises to keep. Nothing iterates over a set and nothing calls ``hash``, so that a seed means the same
history on every platform and version.

Every scenario is told by two speakers over sessions of distinct months, about themselves and a cast of others. For
each question a *group* of statements is made: the evidence, and the statements that make it hard to find. The groups
are scattered over the history, keeping the order that a group needs, and the rest is filled with facts about other
people or topics and with chatter. No statement outside a group answers a question:

============  ==============================================================================================
direct        the question in the words of the evidence; others have facts of the same kind
paraphrased   no content word in common with the evidence but the person's name, whom much else is said about
multi_hop     names a person only by a tie ("who lent Amara the tent"): two statements are needed
temporal      a routine with another outcome each month: only the date tells the right one
superseded    older values in the words of the question; the current one in other words
distractor    the question's words and the person's name in many statements that answer nothing
unanswerable  as distractor, and nobody ever says it
============  ==============================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from runner.harness._base.draw import Draw
from runner.harness.synthetic_memory.sessions import Sessions
from runner.harness.synthetic_memory.statements import QuestionGroup, Statement, filled, sentence
from runner.harness.synthetic_memory.vocabulary import WORDS, Topic
from runner.types import Event, Gold, Question, Scenario

VERSION = "1"
CATEGORIES = {
    "1": "direct",
    "2": "paraphrased",
    "3": "multi_hop",
    "4": "temporal",
    "5": "superseded",
    "6": "distractor",
    "7": "unanswerable",
}
UNANSWERABLE = "7"
EVENTS_PER_QUESTION = 12  # as many as a question's group may need, with room to scatter it

_SESSION_TURNS = 8
_MOST_SESSIONS = 60
_OCCURRENCES = 6  # of a routine
_OLD_VALUES = 2
_LURES = 8
_RIVALS = 3  # facts of the same kind about other people
_MENTIONS = 4  # chatter about the person asked for


class ScenarioGenerator:
    """One scenario in the making."""

    def __init__(self, seed: int, index: int, events: int, questions: int) -> None:
        self._draw = Draw("synthetic_memory", VERSION, seed, index)
        self._index = index
        sessions = min(events, max(_OCCURRENCES, min(_MOST_SESSIONS, -(-events // _SESSION_TURNS))))
        self._sessions = Sessions(self._draw, events, sessions)
        cast = self._draw.shuffled(WORDS.names)[: min(len(WORDS.names), max(8, 2 + events // 10))]
        self._speakers, self._others = cast[:2], cast[2:]
        self._cast = cast
        self._values = {topic.name: self._draw.shuffled(topic.values) for topic in WORDS.topics}
        self._topics = self._draw.shuffled(WORDS.topics)
        self._routines = self._draw.shuffled(WORDS.routines)
        self._closed: dict[tuple[str, str], None] = {}  # (person, topic) that a question asks for
        order = list(CATEGORIES)
        chosen = [order[(questions * index + number) % len(order)] for number in range(questions)]
        makers = {
            "1": self._direct,
            "2": self._paraphrased,
            "3": self._multi_hop,
            "4": self._temporal,
            "5": self._superseded,
            "6": self._distractor,
            "7": self._unanswerable,
        }
        self._targets = [self._target() for _ in chosen]
        self._groups = [makers[key](*target) for key, target in zip(chosen, self._targets, strict=True)]

    # --- statements ------------------------------------------------------------------------------------------------

    def _target(self) -> tuple[str, Topic]:
        """Draw a person and a topic that nothing else has; topics are not shared between questions."""
        topic = self._topics.pop()
        person = self._draw.pick(self._cast)
        self._closed[person, topic.name] = None
        return person, topic

    def _about(self, template: str, person: str, **words: str) -> Statement:
        """Make a statement about a person, by that person if a speaker, else by either speaker."""
        own = person in self._speakers
        speaker = person if own else self._draw.pick(self._speakers)
        forms = {"S": "I", "O": "me", "Z": "my"} if own else {"S": person, "O": person, "Z": f"{person}'s"}
        return Statement(speaker, sentence(filled(template, **forms, **words)))

    def _mention(self, template: str, person: str, **words: str) -> Statement:
        """Make a statement in which somebody else mentions a person."""
        speakers = [name for name in self._speakers if name != person]
        return Statement(self._draw.pick(speakers), sentence(filled(template, X=person, **words)))

    def _fact(self, person: str, topic: Topic, value: str, templates: Sequence[str] = ()) -> Statement:
        return self._about(self._draw.pick(templates or topic.statements + topic.updates), person, V=value)

    def _rivals(self, person: str, topic: Topic, count: int = _RIVALS) -> list[Statement]:
        """Make facts of the same kind about other people, in the words of a direct question."""
        others = [name for name in self._draw.shuffled(self._cast) if name != person][:count]
        return [self._fact(name, topic, self._values[topic.name].pop(), topic.statements) for name in others]

    def _lures(self, person: str, topic: Topic, count: int) -> list[Statement]:
        templates = self._draw.shuffled(WORDS.lures)[:count]
        return [self._mention(template, person, L=topic.lure) for template in templates]

    def _chatter(self, person: str) -> Statement:
        return self._mention(self._draw.pick(WORDS.chatter), person, D=self._draw.pick(WORDS.details))

    # --- groups ----------------------------------------------------------------------------------------------------

    def _direct(self, person: str, topic: Topic) -> QuestionGroup:
        value = self._values[topic.name].pop()
        statements = [self._fact(person, topic, value, topic.statements), *self._rivals(person, topic)]
        statements += [self._chatter(person) for _ in range(_MENTIONS)]
        return QuestionGroup("1", statements, (0,), _asks(self._draw.pick(topic.questions), P=person), (value,))

    def _paraphrased(self, person: str, topic: Topic) -> QuestionGroup:
        value = self._values[topic.name].pop()
        statements = [self._fact(person, topic, value), *self._rivals(person, topic)]
        statements += [self._chatter(person) for _ in range(_MENTIONS)]
        return QuestionGroup("2", statements, (0,), _asks(self._draw.pick(topic.paraphrases), P=person), (value,))

    def _multi_hop(self, person: str, topic: Topic) -> QuestionGroup:
        del self._closed[person, topic.name]
        linked = self._draw.pick(self._others)
        self._closed[linked, topic.name] = None
        asker, other = [name for name in self._draw.shuffled(self._cast) if name != linked][:2]
        third = self._draw.pick([name for name in self._others if name not in (linked, asker, other)])
        link = self._draw.pick(WORDS.links)
        thing, another = self._draw.shuffled(link.things)[:2]
        value = self._values[topic.name].pop()
        statements = [
            self._about(self._draw.pick(link.statements), asker, B=linked, T=thing),
            self._fact(linked, topic, value),
            self._about(self._draw.pick(link.statements), other, B=third, T=another),
            *self._rivals(linked, topic),
        ]
        statements += [self._chatter(linked) for _ in range(_MENTIONS)]
        described = filled(link.description, A=asker, T=thing)
        return QuestionGroup("3", statements, (0, 1), _asks(self._draw.pick(topic.questions), P=described), (value,))

    def _temporal(self, person: str, topic: Topic) -> QuestionGroup:
        del self._closed[person, topic.name]
        routine = self._routines.pop()
        values = self._draw.shuffled(routine.values)
        right = self._draw.below(_OCCURRENCES)
        statements = [
            self._about(self._draw.pick(routine.statements), person, V=value) for value in values[:_OCCURRENCES]
        ]
        rivals = [name for name in self._draw.shuffled(self._cast) if name != person]
        statements += [
            self._about(self._draw.pick(routine.statements), name, V=value)
            for name, value in zip(rivals, values[_OCCURRENCES:], strict=False)
        ]

        def question(time: datetime | None) -> str:
            assert time is not None
            return filled(routine.question, P=person, M=f"{_MONTHS[time.month - 1]} {time.year}")

        return QuestionGroup("4", statements, (right,), question, (values[right],), series=_OCCURRENCES, months=True)

    def _superseded(self, person: str, topic: Topic) -> QuestionGroup:
        values = [self._values[topic.name].pop() for _ in range(_OLD_VALUES + 1)]
        statements = [self._fact(person, topic, value, topic.statements) for value in values[:-1]]
        statements.append(self._fact(person, topic, values[-1], topic.updates))
        statements += self._rivals(person, topic)
        question = _asks(topic.latest, P=person)
        return QuestionGroup("5", statements, (_OLD_VALUES,), question, (values[-1],), series=_OLD_VALUES + 1)

    def _distractor(self, person: str, topic: Topic) -> QuestionGroup:
        value = self._values[topic.name].pop()
        statements = [self._fact(person, topic, value), *self._lures(person, topic, _LURES)]
        statements += self._rivals(person, topic, 2)
        return QuestionGroup("6", statements, (0,), _asks(self._draw.pick(topic.questions), P=person), (value,))

    def _unanswerable(self, person: str, topic: Topic) -> QuestionGroup:
        statements = self._lures(person, topic, _LURES // 2) + self._rivals(person, topic)
        return QuestionGroup("7", statements, (), _asks(self._draw.pick(topic.questions), P=person))

    def _filler(self, topics: Sequence[Topic], free: dict[str, list[str]]) -> Statement:
        person = self._draw.pick(self._cast)
        topic = self._draw.pick(topics)
        if (person, topic.name) in self._closed or not free[topic.name] or self._draw.chance(0.4):
            return self._chatter(person)
        return self._fact(person, topic, self._draw.pick(free[topic.name]))

    def scenario(self) -> Scenario:
        """Make the history and its questions."""
        taken, places = self._sessions.placed(self._groups)
        starts = self._sessions.starts()
        events: list[Event] = []
        for session, start in enumerate(starts):
            low, high = self._sessions.bounds(session)
            # A session ends within the month in which it starts, however long it is.
            pace = timedelta(seconds=min(40, 20 * 86_400 // max(1, high - low)))
            for position in range(low, high):
                statement = taken.get(position) or self._filler(WORDS.topics, self._values)
                events.append(
                    Event(
                        id=f"e{position:06d}",
                        text=statement.text,
                        time=start + (position - low) * pace,
                        actor=statement.speaker,
                        session=f"session_{session + 1}",
                    )
                )
        name = f"s{self._index:05d}"
        questions = []
        for number, (group, positions) in enumerate(zip(self._groups, places, strict=True)):
            evidence = tuple(events[positions[item]] for item in group.evidence)
            questions.append(
                Question(
                    id=f"{name}/{number}",
                    text=group.question(evidence[0].time if evidence else None),
                    category=group.category,
                    gold=Gold(
                        answers=group.answers,
                        evidence=tuple(event.id for event in evidence),
                        abstain=group.category == UNANSWERABLE,
                    ),
                    now=events[-1].time,
                )
            )
        return Scenario(id=name, cluster=name, events=tuple(events), questions=tuple(questions))


_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


def _asks(template: str, **words: str) -> Callable[[datetime | None], str]:
    text = filled(template, **words)
    return lambda _time: text
