"""Dotted keys of overrides, checked against the models and against what the chosen YAML files state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, get_args, get_origin

from pydantic import BaseModel

from runner.cli._words.choices import GROUPS, stated
from runner.config import Experiment, did_you_mean, flatten, keys_of

NO_RUN: Final = ("", "null")
_MOST_HINTS: Final = 4  # places of one name that are shown


def key_problems(key: str, sign: str, value: str, chosen: Mapping[str, Sequence[Path]]) -> list[str]:
    """Check a dotted key against the models; below a free mapping, against the YAML of the choices."""
    model: Any = Experiment
    parts = key.split(".")
    files = chosen.get(parts[0], [])
    for index, part in enumerate(parts):
        fields = keys_of(model)
        if not fields:
            if model is dict and not sign:
                return _check_free(parts, index, files)
            return [] if model is dict else [f"{key}: '{'.'.join(parts[:index])}' has no keys below it"]
        if part not in fields:
            known = list(fields) + (list(GROUPS) if index == 0 else [])
            prefix = ".".join(parts[:index]) or "the config"
            has = ", ".join(dict.fromkeys(known))
            hint = _elsewhere(parts[-1], chosen) or did_you_mean(part, known)
            return [f"{key}: no such key{hint}; {prefix} has {has}"]
        model = section_of(fields[part].annotation)
    below = list(keys_of(model))
    if below and sign != "~" and value not in NO_RUN and not computed(value):
        return [
            f"{key}: holds keys and takes no value (did you mean {key}.{below[0]}={value}?); it has {', '.join(below)}"
        ]
    return []


def computed(value: str) -> bool:
    """Return whether a value is sweep syntax or an interpolation, which only the config system reads."""
    return any(mark in value for mark in "([{$*")


def _elsewhere(name: str, chosen: Mapping[str, Sequence[Path]]) -> str:
    """Return the hint of a key that stands elsewhere, in a section or in the YAML of a choice; else nothing."""
    places = _places(Experiment, name)
    for group, files in chosen.items():
        for file in files if group in Experiment.model_fields else ():
            value = stated(file)
            keys = flatten(value) if isinstance(value, dict) else {}
            places += [f"{group}.{key}" for key in keys if key.rpartition(".")[2] == name]
    found = list(dict.fromkeys(places))
    *most, last = found or [""]
    return f" (did you mean {', '.join(most)}{' or ' if most else ''}{last}?)" if 0 < len(found) <= _MOST_HINTS else ""


def _places(model: Any, name: str) -> list[str]:
    """Return the dotted keys of a section whose last part is a name."""
    found = []
    for key, field in keys_of(model).items():
        found += [key] if key == name else []
        found += [f"{key}.{place}" for place in _places(section_of(field.annotation), name)]
    return found


def _check_free(parts: list[str], depth: int, files: Sequence[Path]) -> list[str]:
    """Check that every chosen YAML states a key below ``arm.knobs`` or the like; a plus adds one that is not there."""
    key, section = ".".join(parts), ".".join(parts[:depth])
    problems = []
    for file in files:
        value = stated(file)
        if value is None:
            continue
        for part in parts[1:]:
            known = list(value) if isinstance(value, dict) else []
            if part not in known:
                name = file.name.removesuffix(".yaml")
                has = f"it states {', '.join(known)}" if known else "it states none"
                problems.append(
                    f"{key}: {parts[0]} '{name}' states no such key in {section}{did_you_mean(part, known)}; {has} "
                    f"(+{key}=… adds one)"
                )
                break
            value = value[part]
    return problems


def section_of(annotation: Any) -> Any:
    """Return the model or mapping inside ``Annotated`` and ``| None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) is dict:
        return dict
    for item in get_args(annotation):
        found = section_of(item)
        if found is not None:
            return found
    return None
