"""MemBench: one multiple choice at the end of each of 26,637 streams of messages (Tan et al. 2025).

Source: import-myself/Membench (its README shows an MIT badge, the repository has no licence file). Two views by two
levels make the four categories: an agent that takes part in the chat or looks on, and facts that were said or
preferences and moods that follow from them (``highlevel`` files are reflective, the others factual).

- A trajectory is a scenario with one question; it is named by its place in the data, for ``tid`` is not unique. The
  cluster is the simulated user, whom a ``tid`` means in every file: trajectories about one person share facts.
- A step, which is what the published code stores and what targets count, is one event: a message, or both sides of an
  exchange. Events are numbered by their place in the stream. The place of a message is in its text, its time in the
  event; the labels of facts on messages (``rel``, ``attr``, ``value``) are gold in other words and reach no system.
- A memory is searched by the question alone, the reader sees the options as well and answers by a letter, which the
  rule ``membench_letter`` reads (:func:`runner.score.choice.letter`). Two letters are WRONG, and so is text without
  one; a refusal or nothing at all is ABSTAIN.
- Evidence is the target steps; recall is the share of them that came back, as published (``fraction@K``). Targets out
  of range are left out of it and counted by ``data check``.
- Capacity is accuracy by the size of the memory (tag ``tokens``, four characters a token, in powers of two); make
  streams longer with ``noise`` (:mod:`runner.harness.membench.noise`). Efficiency needs nothing of a harness: a
  run records seconds of writing in ``ingest.jsonl`` and of searching in every row.
- ``sample`` takes that many questions of each category in a seeded order. The published subsample is not seeded.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Annotated, ClassVar, Final

from pydantic import Field

from runner.config import Strict
from runner.data.source import DataFiles
from runner.errors import DatasetError
from runner.harness._base.published import Published
from runner.harness.membench.data_check import MemBenchDataCheck
from runner.harness.membench.format import LETTERS, OBSERVATION, Step, Trajectory, name_of, parse, view_of
from runner.harness.membench.noise import NoisePool, ranked
from runner.harness.membench.source import REFLECTIVE, RawTrajectory, find, raw_trajectories
from runner.score.choice import letter
from runner.score.lexical import is_abstention
from runner.score.retrieval import profile, profile_metrics, ranked_sources
from runner.types import ABSTAIN, CORRECT, WRONG, Event, Fact, Gold, Hit, Label, Question, Scenario

RULE: Final = "membench_letter"
PROMPT: Final = "membench_choice"
CATEGORIES: Final = (
    "participation-factual",
    "participation-reflective",
    "observation-factual",
    "observation-reflective",
)
_CHARS_A_TOKEN: Final = 4
_SMALLEST: Final = 1000  # tokens; sizes double from there


class MemBenchSettings(Strict):
    """``sample`` questions per category (``None``: all), ``noise`` messages of others per stream, both by ``seed``."""

    sample: Annotated[int, Field(ge=1)] | None = 100
    seed: Annotated[int, Field(ge=0)] = 7
    noise: Annotated[int, Field(ge=0, le=100_000)] = 0


class MemBench(Published):
    name = "membench"
    title = "MemBench"
    licence = "MIT by the badge of its README; no licence file"
    categories: ClassVar = {name: name for name in CATEGORIES}
    aliases: ClassVar = {  # names of the joined files
        "FirstAgentLowLevel": "participation-factual",
        "FirstAgentHighLevel": "participation-reflective",
        "ThirdAgentLowLevel": "observation-factual",
        "ThirdAgentHighLevel": "observation-reflective",
    }
    comparable = frozenset(CATEGORIES)
    cluster = "simulated user"
    prompts = (PROMPT,)
    rules = (RULE,)
    tags = ("view", "level", "task", "topic", "tokens")
    metrics = profile_metrics()
    documents = False
    Settings = MemBenchSettings
    settings: MemBenchSettings

    @cached_property
    def _found(self) -> DataFiles:
        return find(self.config.dataset)

    def verified(self) -> DataFiles:
        return self._found

    def _raw(self) -> Iterator[RawTrajectory]:
        empty = True
        for raw in raw_trajectories(self._found):
            empty = False
            yield raw
        if empty:
            raise DatasetError("the data holds no trajectory; give another copy (harness.dataset.path)")

    @cached_property
    def _sampled(self) -> frozenset[str] | None:
        """Names of the questions that are asked; ``None``: all. Learned in a pass of its own that keeps names only."""
        if self.settings.sample is None:
            return None
        by_category: dict[str, list[tuple[bytes, str]]] = {}
        for raw in self._raw():
            view = view_of(raw)
            name = name_of(view, raw)
            by_category.setdefault(_category(view, raw.task), []).append((ranked(self.settings.seed, name), name))
        return frozenset(name for names in by_category.values() for _, name in sorted(names)[: self.settings.sample])

    @cached_property
    def _pool(self) -> NoisePool:
        pool = NoisePool(self.settings.seed)
        for raw in self._raw():
            pool.add(parse(raw))
        return pool

    def unasked(self) -> list[str]:
        return [name_of(view_of(raw), raw) for raw in self._raw()]

    def scenarios(self) -> Iterator[Scenario]:
        for raw in self._raw():
            if self._sampled is None or name_of(view_of(raw), raw) in self._sampled:
                yield self._scenario(parse(raw))

    def patched(self, question: Question) -> Question:
        right_letter(question)  # refuses an answer that is not among the choices
        return question

    def _scenario(self, trajectory: Trajectory) -> Scenario:
        steps: Sequence[Step] = trajectory.steps
        targets = {id(steps[number]) for number in trajectory.targets}
        if self.settings.noise:
            steps = self._pool.mixed(trajectory, self.settings.noise)
        spoken = _in_order([step for step in steps if step.text])
        if not spoken:
            raise DatasetError(f"{trajectory.name} has no message that says anything; mend the data")
        events = tuple(
            Event(
                id=f"m{number:05d}",
                text=f"{step.text} (place: {step.place})" if step.place else step.text,
                time=step.time,
                actor="user" if trajectory.view == OBSERVATION else "",
                session=f"s{step.session + 1:02d}",
            )
            for number, step in enumerate(spoken, start=1)
        )
        evidence = tuple(event.id for event, step in zip(events, spoken, strict=True) if id(step) in targets)
        return Scenario(
            id=f"stream-{hashlib.sha256(trajectory.name.encode()).hexdigest()[:16]}",
            cluster=f"user {trajectory.user}" if trajectory.user != trajectory.name else trajectory.name,
            events=events,
            questions=(self._question(trajectory, evidence, sum(len(event.text) for event in events)),),
        )

    def _question(self, trajectory: Trajectory, evidence: tuple[str, ...], chars: int) -> Question:
        options = "\n".join(f"{name}. {text}" for name, text in trajectory.options.items())
        return Question(
            id=trajectory.name,
            text=trajectory.question,
            category=_category(trajectory.view, trajectory.task),
            gold=Gold(
                answers=(trajectory.options[trajectory.letter],),
                evidence=evidence,
                carry=(Fact(label="letter", any=(trajectory.letter,)),),
            ),
            now=trajectory.now,
            tags={
                "view": trajectory.view,
                "level": "reflective" if trajectory.reflective else "factual",
                "task": trajectory.task,
                "topic": trajectory.topic or "none",
                "tokens": size(chars // _CHARS_A_TOKEN),
            },
            prompt=PROMPT,
            reading=f"{trajectory.question}\n{options}",
            rule=RULE,
        )

    # --- scores ----------------------------------------------------------------------------------------------------

    def headline(self, axis: str) -> str:
        """The share of target steps on the recall axis, as published."""
        return f"fraction@{self.config.k}" if axis == "recall" else super().headline(axis)

    def score_retrieval(self, question: Question, hits: Sequence[Hit]) -> dict[str, float | None]:
        """Retrieval metrics over the target steps."""
        return profile(ranked_sources(hits), question.gold.evidence, self.config.k)

    def grade(self, question: Question, answer: str) -> Label:
        """CORRECT for the right letter and no other; ABSTAIN for a refusal or nothing, WRONG for the rest."""
        if not answer.strip() or is_abstention(answer):
            return Label(value=ABSTAIN, reason="explicit refusal" if answer.strip() else "no answer")
        choice = letter(answer, options_of(question))
        if not choice.value:
            return Label(value=WRONG, reason=choice.why.replace("none", "no letter", 1))
        right = right_letter(question)
        return Label(value=CORRECT if choice.value == right else WRONG, reason=f"said {choice.value}, right is {right}")

    # --- gold patches and counts -----------------------------------------------------------------------------------

    def counts(self) -> list[str]:
        check = MemBenchDataCheck()
        asked: Counter[str] = Counter()
        for raw in self._raw():
            trajectory = parse(raw)
            category = _category(trajectory.view, trajectory.task)
            check.add(trajectory, category)
            asked[category] += self._sampled is None or trajectory.name in self._sampled
        chosen = self.settings
        return [
            *check.lines(),
            f"asked: {asked.total()} (sample {chosen.sample or 'all'} a category, seed {chosen.seed}, noise "
            f"{chosen.noise} messages a stream): " + ", ".join(f"{name} {n}" for name, n in asked.items()),
        ]


def _category(view: str, task: str) -> str:
    return f"{view}-{'reflective' if task in REFLECTIVE else 'factual'}"


def _in_order(steps: Sequence[Step]) -> list[Step]:
    """Sort steps by time; one without a time stays behind the one before it."""
    last = datetime.min
    keyed = []
    for step in steps:
        last = step.time or last
        keyed.append((last, step))
    return [step for _, step in sorted(keyed, key=lambda item: item[0])]


def size(tokens: int) -> str:
    """Return the bucket of a memory's size: "<1k", then powers of two.

    >>> [size(tokens) for tokens in (999, 1000, 3999, 128_000)]
    ['<1k', '1k-2k', '2k-4k', '128k-256k']
    """
    if tokens < _SMALLEST:
        return "<1k"
    low = 1 << (tokens // _SMALLEST).bit_length() - 1
    return f"{low}k-{2 * low}k"


def options_of(question: Question) -> Mapping[str, str]:
    """Return text by letter: the last lines of what the reader is asked."""
    lines = question.reading.splitlines()[-len(LETTERS) :]
    return {line[0]: line[3:] for line in lines}


def right_letter(question: Question) -> str:
    """Return the published letter, or that of the answer that a gold patch put in its place.

    Raises
    ------
    DatasetError
        When a patched answer is not among the choices.
    """
    options = options_of(question)
    answer = " ".join(question.gold.answers[0].split())
    published = question.gold.carry[0].any[0]
    if options.get(published) == answer:
        return published
    named = next((name for name, text in options.items() if text == answer), answer)
    if named not in options:
        raise DatasetError(
            f"{MemBench.name}: the gold patch of {question.id} gives {answer[:60]!r}, which is not one of its choices"
        )
    return named


HARNESS = MemBench
