"""Filler: events of no consequence that people note where they work, beside the matter of a scenario.

The sentences are in ``filler.yaml``. An entry is a number and always the same event, whatever the scenario and the
seed, so that scenarios share texts and an embedding model reads each once. The first 160 or so use every sentence
once; later ones fill it anew.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from runner.harness._base.draw import Draw
from runner.harness._base.shipped import read_shipped
from runner.harness.handoff.scenario_file import EventSpec

POOL_VERSION: Final = 1  # raise when an entry changes

_NO_TIME: Final = datetime(2026, 1, 1)
_BY_AGENT: Final = 0.3  # share of the notes and commits that an agent writes


class IdleCheckpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A note that an agent leaves when it stops work on something else."""

    project: str
    task: str
    decided: str
    failed: tuple[str, ...]
    open: str
    next: str


class IdleTalk(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file. ``said`` holds kind, project and text; ``words`` fill the placeholders."""

    people: tuple[str, ...]
    agents: tuple[str, ...]
    words: dict[str, tuple[str, ...]]
    said: tuple[tuple[str, str, str], ...]
    checkpoints: tuple[IdleCheckpoint, ...]


_TALK: Final = read_shipped(Path(__file__).with_name("filler.yaml"), IdleTalk)


def idle(entry: int) -> EventSpec:
    """Return an entry of the pool. Its time is a placeholder."""
    size = len(_TALK.said) + len(_TALK.checkpoints)
    draw = Draw("handoff pool", POOL_VERSION, entry)
    words = {slot: draw.pick(items) for slot, items in _TALK.words.items()}
    # Walking the sentences in a stride mixes the kinds in every stretch of the pool.
    at = entry * 47 % size
    human = draw.pick([name for name in _TALK.people if name != words["P"]])  # nobody speaks of himself by name
    agent = draw.pick(_TALK.agents)
    if at >= len(_TALK.said):
        stop = _TALK.checkpoints[at - len(_TALK.said)]
        return EventSpec(
            time=_NO_TIME,
            actor=agent,
            kind="checkpoint",
            project=stop.project,
            task=stop.task.format(**words),
            decisions=(stop.decided.format(**words),),
            failed=tuple(item.format(**words) for item in stop.failed),
            questions=(f"{stop.open.format(**words)}?",),
            next=stop.next.format(**words),
        )
    kind, project, text = _TALK.said[at]
    sentence = text.format(**words)
    actor = agent if kind in ("note", "commit") and draw.chance(_BY_AGENT) else human
    return EventSpec.model_validate(
        {
            "time": _NO_TIME,
            "actor": actor,
            "kind": kind,
            "project": project,
            "title": f"{project.replace('-', ' ')} notes" if kind == "doc" else "",
            "text": sentence[0].upper() + sentence[1:],
        }
    )
