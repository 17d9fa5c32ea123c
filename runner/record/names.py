"""Names of runs that stand side by side: what differs in the configs tells two of one name apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from runner.config import flatten

_APART: Final = ("gate.", "run.from")  # keys that say nothing of what was measured
_SHOWN: Final = 3  # keys


def distinct_names(names: Sequence[str], configs: Sequence[Mapping[str, Any]], folders: Sequence[str]) -> list[str]:
    """Return the names, each that several share with the keys in which their configs differ in brackets.

    Parameters
    ----------
    names, configs
        Of the same runs, in one order.
    folders
        What stands in the brackets where no key differs.
    """
    flat = [flatten(config) for config in configs]
    distinct = []
    for index, name in enumerate(names):
        same = [i for i, other in enumerate(names) if other == name]
        if len(same) > 1:
            keys = [
                key
                for key in flat[index]
                if len({str(flat[i].get(key)) for i in same}) > 1 and not key.startswith(_APART)
            ]
            keys = _by_choice(keys, [flat[i] for i in same])
            apart = ", ".join(f"{_short(key)}={flat[index].get(key)}" for key in keys[:_SHOWN])
            name = f"{name} [{apart or folders[index]}]"
        distinct.append(name)
    return distinct


def _by_choice(keys: list[str], configs: list[dict[str, Any]]) -> list[str]:
    """Return the keys that do not follow from the name of a chosen group: ``reader=ask`` says all that ``ask`` sets."""

    def follows(key: str) -> bool:
        name = f"{key.partition('.')[0]}.name"
        if key == name or name not in keys:
            return False
        return len({(str(c.get(name)), str(c.get(key))) for c in configs}) == len({str(c.get(name)) for c in configs})

    return [key for key in keys if key.startswith("arm.") or not follows(key)]


def _short(key: str) -> str:
    """Return a key as a name shows it: ``graph`` for ``arm.knobs.graph``, ``reader`` for ``reader.name``."""
    if key.startswith("arm."):
        return key.removeprefix("arm.").removeprefix("knobs.")
    return key.removesuffix(".name")
