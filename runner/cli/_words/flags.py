"""The flags of a verb, declared and read in one way; an unknown one is refused.

Every other argument is a word (a directory, ``KEY=VALUE``), which the verb itself reads. Not ``argparse``: its messages
are several lines, it takes ``--jso`` for ``--json``, and it loses the order of words and flags.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from runner.cli._words.hydra_flags import CONFIG_DIR, config_dirs
from runner.config import did_you_mean
from runner.errors import UsageError


class Argument(NamedTuple):
    """A word, or a flag with its value."""

    flag: str  # empty for a word
    value: str  # empty for a switch
    typed: tuple[str, ...]


@dataclass(frozen=True)
class Arguments:
    """The arguments of a verb, in the order in which they were typed."""

    items: list[Argument]

    @property
    def words(self) -> list[str]:
        return self.values("")

    @property
    def flags(self) -> list[tuple[str, str]]:
        return [(item.flag, item.value) for item in self.items if item.flag]

    def __contains__(self, flag: object) -> bool:
        return any(flag == item.flag for item in self.items)

    def values(self, *flags: str) -> list[str]:
        """Return the values of flags that mean the same."""
        return [item.value for item in self.items if item.flag in flags]

    def value(self, flag: str) -> str | None:
        """Return the value of a flag; ``None`` when it was not given."""
        return next(iter(self.values(flag)), None)

    def number(self, flag: str, least: int) -> int | None:
        """Return the value of a flag as a whole number; ``None`` when it was not given.

        Raises
        ------
        UsageError
            When it is not a whole number, or is less than ``least``.
        """
        value = self.value(flag)
        if value is None:
            return None
        if not (value.isascii() and value.isdigit() and len(value) <= 18 and int(value) >= least):
            raise UsageError(f"{flag} {value}: give a whole number of at least {least}")
        return int(value)

    def typed(self, *flags: str) -> list[str]:
        """Return these flags as they were typed, to be handed on."""
        return [word for item in self.items if item.flag in flags for word in item.typed]

    def config_dirs(self) -> list[Path]:
        """Return the folders of a person's own choices.

        Raises
        ------
        UsageError
            When one is not a folder.
        """
        return config_dirs(self.typed(*CONFIG_DIR))

    def without(self, *flags: str) -> list[str]:
        """Return everything else as it was typed."""
        return [word for item in self.items if item.flag not in flags for word in item.typed]


@dataclass(frozen=True)
class Flags:
    """Declares the flags of a verb. A value is given as ``--flag VALUE`` or ``--flag=VALUE``.

    In the first form it cannot begin with two dashes.

    ``there`` and ``missing`` replace the messages that list the flags and, by flag, that ask for its value. With
    ``others`` a flag that is not declared takes a value: the words of the verb decide which flags exist.
    """

    verb: str
    switches: tuple[str, ...] = ()
    valued: tuple[str, ...] = ()  # at most once
    many: tuple[str, ...] = ()  # with a value, and as often as one likes
    there: str = ""
    missing: Mapping[str, str] = field(default_factory=dict)
    others: bool = False

    def parse(self, argv: Sequence[str]) -> Arguments:
        """Return the arguments of a command line.

        Raises
        ------
        UsageError
            For an unknown flag, a value that is missing or too many, a flag that is given twice.
        """
        given = Arguments([])
        rest = iter(argv)
        for word in rest:
            if not word.startswith("-") or word == "-":
                given.items.append(Argument("", word, (word,)))
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
            given.items.append(Argument(flag, value, (word,) if sign or not value else (word, value)))
        return given
