"""Overrides as the config system wants them: plus signs added, the path of ``run.from`` absolute."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from runner.cli._words.hydra_flags import split
from runner.cli._words.keys import NO_RUN, section_of
from runner.config import Experiment, keys_of, own_path

# Groups that are not in the defaults list and need a plus; both spellings work.
PLUS: Final = ("arm", "experiment")
_PLAIN_PATH = re.compile(r"[\w./-]+")  # what the config system's grammar takes without quotes


def rewritten(argv: Sequence[str]) -> list[str]:
    """Write ``arm=x`` as ``+arm=x``, and the same for ``experiment``: the defaults list has neither.

    Overrides come before flags, wherever a person put them: the config system's parser takes them in one piece.
    """
    overrides, flags = split(argv)
    return [_plus(_anchored(word)) for word in overrides] + flags


def _anchored(word: str) -> str:
    """Make the paths of ``run.from=DIR,DIR`` absolute: a sweep writes its jobs down, to be resumed from any folder."""
    key, sign, value = word.partition("=")
    if key.lstrip("+") != "run.from" or value in NO_RUN or any(mark in value for mark in "([{$*'\"\\"):
        return word
    places = [str(own_path(place).absolute()) for place in value.split(",")]
    return f"{key}{sign}" + ",".join(p if _PLAIN_PATH.fullmatch(p) else f"'{p}'" for p in places)


def _plus(word: str) -> str:
    """Add the plus signs that a person need not know: of groups without a default, of keys a YAML leaves at theirs."""
    key = word.partition("=")[0]
    if key in PLUS:
        return f"+{word}"
    model: Any = Experiment
    for part in key.split("."):
        fields = keys_of(model)
        if part not in fields:
            return word
        model = section_of(fields[part].annotation)
    modelled = key.startswith(("reader.", "judge.", "slice.", "gate.", "budget.", "run."))
    return f"++{word}" if modelled and model is None else word
