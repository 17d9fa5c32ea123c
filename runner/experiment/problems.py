"""Problems of several look-ups, collected so that a person sees all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from runner.errors import ConfigError


class Problems:
    """Collects the problems of a config, one line each."""

    def __init__(self, lines: Iterable[str] = ()) -> None:
        self.lines = list(lines)

    def attempt(self, build: Callable[..., Any], *args: Any) -> Any:
        """Return what a call returns; ``None`` where it raises :class:`ConfigError`, whose problems are kept."""
        try:
            return build(*args)
        except ConfigError as error:
            self.lines.extend(error.problems)
            return None

    def check(self) -> None:
        """Raise what was collected, each line once.

        Raises
        ------
        ConfigError
            When there is any problem.
        """
        if self.lines:
            raise ConfigError(list(dict.fromkeys(self.lines)))
