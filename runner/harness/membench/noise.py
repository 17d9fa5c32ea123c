"""Noise for MemBench: messages of other trajectories, mixed into a stream so that nothing gives them away.

The published code mixes in chats about nothing that it generated; they are not among the data of every copy. Here a
stream is made longer by messages of other streams of the same view. What they state must not change the answer:

- they come from another simulated user, and from trajectories of another topic; topics that mix others give none;
- not from a trajectory in which the right choice stands word for word (one of several things, where it is a list), nor
  from one that speaks of what the answering messages are about, where the file says what that is.

A message that is mixed in goes to one of the stream's own that is not later than the question, drawn alike, takes its
time, place and session, and stands before or behind it and those that came to it already, at a place drawn alike: times
stay in order, none lies after the question, and of messages that share a time each is as likely the stream's own.
"""

from __future__ import annotations

import hashlib
import heapq
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from runner.errors import DatasetError
from runner.harness._base.draw import Draw
from runner.harness.membench.format import Step, Trajectory

KEPT: Final = 40  # trajectories of a view and topic that noise is drawn from
MIXED: Final = frozenset({"hybrid", "multi_agent"})  # topics that speak of several others

_WORD: Final = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class Donor:
    name: str
    user: str
    topic: str
    texts: tuple[str, ...]
    words: str  # of all texts, as `spoken_of` compares them


@dataclass
class NoisePool:
    """Trajectories that noise comes from: the first few of each view and topic in a seeded order."""

    seed: int
    _kept: dict[tuple[str, str], list[tuple[int, Donor]]] = field(default_factory=dict)

    def add(self, trajectory: Trajectory) -> None:
        if trajectory.topic in MIXED:
            return
        kept = self._kept.setdefault((trajectory.view, trajectory.topic), [])
        order = -int.from_bytes(ranked(self.seed, trajectory.name), "big")  # a heap keeps its smallest first
        if len(kept) == KEPT and order <= kept[0][0]:
            return
        texts = tuple(step.text for step in trajectory.steps if step.text)
        donor = Donor(trajectory.name, trajectory.user, trajectory.topic, texts, _words("\n".join(texts)))
        (heapq.heappush if len(kept) < KEPT else heapq.heapreplace)(kept, (order, donor))

    def _donors(self, view: str) -> list[Donor]:
        donors = [donor for (kept_view, _), kept in self._kept.items() if kept_view == view for _, donor in kept]
        return sorted(donors, key=lambda donor: donor.name)

    def mixed(self, trajectory: Trajectory, count: int) -> tuple[Step, ...]:
        """Return the steps of a trajectory with ``count`` messages of others in between, marked by ``own=-1``.

        Raises
        ------
        DatasetError
            When fewer messages than that may be mixed in without changing the answer.
        """
        avoided = [_words(text) for text in (*_parts(trajectory), *trajectory.subjects)]
        texts = [
            text
            for donor in self._donors(trajectory.view)
            if donor.user != trajectory.user and donor.topic != trajectory.topic
            if not any(phrase in donor.words for phrase in avoided if phrase.strip())
            for text in donor.texts
        ]
        if len(texts) < count:
            raise DatasetError(
                f"{trajectory.name} can have {len(texts)} messages of other trajectories mixed in, not "
                f"{count}: noise comes from other topics of the same view; give more files, or lower "
                "harness.settings.noise"
            )
        draw = Draw(self.seed, "noise", count, trajectory.name)
        for at in range(count):  # a shuffle that stops where enough is drawn
            other = at + draw.below(len(texts) - at)
            texts[at], texts[other] = texts[other], texts[at]
        return _inserted(trajectory, texts[:count], draw)


def _inserted(trajectory: Trajectory, texts: Iterable[str], draw: Draw) -> tuple[Step, ...]:
    steps, now = trajectory.steps, trajectory.now
    spoken = [at for at, step in enumerate(steps) if step.text]
    near = [at for at in spoken if now is None or (time := steps[at].time) is None or time <= now]
    groups = [[step] for step in steps]
    for text in texts:
        at = near[draw.below(len(near))] if near else 0
        # Where all of the stream is later than the question, what is mixed in has no time and stands before it.
        mixed = replace(steps[at], text=text, time=steps[at].time if near else None, own=-1, subject="")
        groups[at].insert(draw.below(len(groups[at]) + 1) if near else 0, mixed)
    return tuple(step for group in groups for step in group)


def ranked(seed: int, name: str) -> bytes:
    """Return the place of a trajectory in a seeded order that depends on nothing else."""
    return hashlib.sha256(f"{seed}/{name}".encode()).digest()


def _parts(trajectory: Trajectory) -> Sequence[str]:
    """Return the right choice, and each of its parts where it is a list."""
    right = trajectory.options[trajectory.letter]
    return (right, *right.split(", "))


def _words(text: str) -> str:
    """Return the words of a text between spaces, so that a phrase is found as whole words."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "
