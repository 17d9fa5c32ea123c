"""Choices of the config groups: the shipped YAML files, and those in folders of one's own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import yaml

from runner.config import conf_dir

GROUPS: Final = ("harness", "arm", "reader", "judge", "slice", "budget", "gate", "experiment")


def choices(group: str, folders: Iterable[Path]) -> dict[str, Path]:
    """Return the choices of a group by name; shipped ones first, so that they cannot be redefined."""
    found: dict[str, Path] = {}
    for folder in folders:
        for file in sorted((folder / group).glob("*.yaml")):
            found.setdefault(file.name.removesuffix(".yaml"), file)
    return found


def defaults() -> dict[str, str]:
    """Return the choices of the shipped defaults list, for groups that the command line does not name."""
    listed = yaml.safe_load((conf_dir() / "config.yaml").read_text(encoding="utf-8"))["defaults"]
    return {k: str(v) for item in listed if isinstance(item, dict) for k, v in item.items() if k in GROUPS}


def stated(file: Path) -> Any:
    """Return what the YAML of a choice states, with the choices beside it that its defaults name.

    ``None`` when it cannot be read, or builds on something else: the config system knows more then.
    """
    return _stated(file, ())


def _stated(file: Path, above: tuple[Path, ...]) -> Any:
    try:
        value = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return None
    if not isinstance(value, dict) or "defaults" not in value:
        return {} if value is None else value
    listed = value.pop("defaults")
    *names, last = listed if isinstance(listed, list) and listed else [None]
    if file in above or last != "_self_" or not all(isinstance(name, str) for name in names):
        return None
    merged: dict[str, Any] = {}
    for part in [*(_stated(file.with_name(f"{name}.yaml"), (*above, file)) for name in names), value]:
        if not isinstance(part, dict):
            return None
        merged = _merged(merged, part)
    return merged


def _merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    both = {key for key in above if isinstance(above[key], dict) and isinstance(below.get(key), dict)}
    return {**below, **above, **{key: _merged(below[key], above[key]) for key in both}}
