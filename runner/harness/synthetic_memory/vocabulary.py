"""The words and sentences that ``synthetic_memory`` draws from, read from ``vocabulary.yaml``, which explains them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from runner.harness._base.shipped import read_shipped


class Topic(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One kind of fact about a person."""

    name: str
    values: tuple[str, ...]
    statements: tuple[str, ...]
    updates: tuple[str, ...]
    questions: tuple[str, ...]
    latest: str
    paraphrases: tuple[str, ...]
    lure: str


class Routine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something done again and again, each time with another outcome."""

    name: str
    values: tuple[str, ...]
    statements: tuple[str, ...]
    question: str


class Link(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tie between two people that a multi-hop question goes through."""

    things: tuple[str, ...]
    statements: tuple[str, ...]
    description: str


class Vocabulary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    names: tuple[str, ...]
    topics: tuple[Topic, ...]
    routines: tuple[Routine, ...]
    links: tuple[Link, ...]
    lures: tuple[str, ...]
    chatter: tuple[str, ...]
    details: tuple[str, ...]


WORDS: Final = read_shipped(Path(__file__).with_name("vocabulary.yaml"), Vocabulary)
