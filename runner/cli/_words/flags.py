"""The flags that a verb takes, declared: one way of reading them, and of refusing what is none.

Whatever is no flag is a word, a directory or ``KEY=VALUE``; what it means is the verb's own business. Not ``argparse``:
its messages are several lines, it takes ``--jso`` for ``--json``, and it loses the order of words and flags.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from runner.config import did_you_mean
from runner.errors import UsageError


class Part(NamedTuple):
    """A word, or a flag with its value."""

    flag: str  # empty for a word
    value: str  # empty for a switch
    typed: tuple[str, ...]


@dataclass(frozen=True)
class Given:
    """A command line, taken apart."""

    parts: list[Part]

    @property
    def words(self) -> list[str]:
        return self.all("")

    @property
    def flags(self) -> list[tuple[str, str]]:
        return [(part.flag, part.value) for part in self.parts if part.flag]

    def __contains__(self, flag: object) -> bool:
        return any(flag == part.flag for part in self.parts)

    def all(self, *flags: str) -> list[str]:
        """The values of flags that mean one thing."""
        return [part.value for part in self.parts if part.flag in flags]

    def one(self, flag: str) -> str | None:
        """The value of a flag; ``None`` when it was not given."""
        return next(iter(self.all(flag)), None)

    def whole(self, flag: str, least: int) -> int | None:
        """The value of a flag as a number; ``None`` when it was not given.

        Raises
        ------
        UsageError
            When it is no whole number, or less than ``least``.
        """
        value = self.one(flag)
        if value is None:
            return None
        if not (value.isascii() and value.isdigit() and len(value) <= 18 and int(value) >= least):
            raise UsageError(f"{flag} {value}: give a whole number of at least {least}")
        return int(value)

    def typed(self, *flags: str) -> list[str]:
        """These flags as they were typed, for whoever reads them next."""
        return [word for part in self.parts if part.flag in flags for word in part.typed]

    def without(self, *flags: str) -> list[str]:
        """Everything else as it was typed."""
        return [word for part in self.parts if part.flag not in flags for word in part.typed]


@dataclass(frozen=True)
class Flags:
    """What a verb takes. Values are ``--flag VALUE`` or ``--flag=VALUE``, and none begins with two dashes.

    ``there`` and ``missing`` say in the verb's own words what flags there are and, by flag, that a value is missing.
    ``others``: what is not declared is taken for a flag with a value, for a verb whose words say which flags there are.
    """

    verb: str
    switches: tuple[str, ...] = ()
    valued: tuple[str, ...] = ()  # at most once
    many: tuple[str, ...] = ()  # with a value, and as often as one likes
    there: str = ""
    missing: Mapping[str, str] = field(default_factory=dict)
    others: bool = False

    def parse(self, argv: Sequence[str]) -> Given:
        """Take a command line apart.

        Raises
        ------
        UsageError
            For an unknown flag, a value that is missing or too many, a flag that is given twice.
        """
        given = Given([])
        rest = iter(argv)
        for word in rest:
            if not word.startswith("-") or word == "-":
                given.parts.append(Part("", word, (word,)))
                continue
            flag, sign, value = word.partition("=")
            known = (*self.switches, *self.valued, *self.many)
            if flag not in known and not self.others:
                there = self.there or f"there are {', '.join(known)}"
                raise UsageError(f"{self.verb} {flag}: no such flag{did_you_mean(flag, known)}; {there}")
            if flag in self.switches:
                if sign:
                    raise UsageError(f"{self.verb} {flag}: takes no value")
            else:
                value = value if sign else next(rest, "")
                if not value or (not sign and value.startswith("--")):
                    raise UsageError(self.missing.get(flag, f"{self.verb}: {flag} needs a value"))
                if flag in self.valued and flag in given:
                    raise UsageError(f"{self.verb}: {flag} was given twice")
            given.parts.append(Part(flag, value, (word,) if sign or not value else (word, value)))
        return given
