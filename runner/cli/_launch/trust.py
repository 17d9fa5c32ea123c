"""Trust in a recorded run: one made elsewhere or edited could run any command or send a key anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from runner.cli._words.directories import resume_line, shown
from runner.config import Experiment
from runner.errors import Refused, RunnerError

# Keys of an arm's settings by which a system runs a program, or reaches a server.
_COMMANDS = ("command", "reflect", "brain")


_SERVERS = ("base_url", "url", "host")


def refuse_strange(path: Path, experiment: Experiment) -> None:
    """Refuse a record from elsewhere, or an edited one, that would run a command or reach a server.

    Raises
    ------
    Refused
        When to go on would run a command or send a key.
    """
    config = experiment.model_dump(mode="json")
    acts = list(_acts({"judge": config["judge"]} if experiment.run.from_ else config))
    if not experiment.run.from_ and not any("(arm" in act for act in acts) and _acts_outside(experiment.arm.system):
        acts.append(f"run the system '{experiment.arm.system}' with the record's settings (arm.settings)")
    if acts:
        raise Refused(
            f"{shown(path)}: this record was made elsewhere or edited; to resume would {' and '.join(acts)}. "
            f"If that is what you want: {resume_line(path)} --trust"
        )


def _acts(value: Any, place: str = "") -> Iterator[str]:
    """Yield what a config would do outside this process, with a model of a reader, judge or arm."""
    if not isinstance(value, dict):
        return
    if value.get("provider") == "command":
        yield f"run the command {' '.join(map(str, value.get('command') or ()))!r} ({place})"
    elif value.get("provider") == "openai":
        where = value.get("base_url") or "the default endpoint"
        yield f"send data and ${value.get('api_key_env') or 'no key'} to {where} ({place})"
    elif place == "arm":
        yield from _reaches(value.get("settings"), "arm.settings")
    for key, item in value.items():
        yield from _acts(item, f"{place}.{key}" if place else str(key))


def _acts_outside(name: str) -> bool:
    """Return whether a system acts outside this process, as its class says; one that is not found does not."""
    from runner import system as systems

    try:
        return systems.find(name).outside
    except RunnerError:
        return False


def _reaches(settings: Any, place: str) -> Iterator[str]:
    """Yield the commands and servers in an arm's own settings, by their keys, for any system."""
    if not isinstance(settings, dict) or settings.get("provider") in ("command", "openai"):  # `_acts` tells of a model
        return
    auth = settings.get("auth")
    named = [auth.get("env")] if isinstance(auth, dict) else []
    named += settings["env_from"] if isinstance(settings.get("env_from"), list) else []
    handed = "".join(f" and ${name}" for name in named if name)
    for key in _COMMANDS:
        words = settings.get(key)
        if words and isinstance(words, list | str):
            line = words if isinstance(words, str) else " ".join(map(str, words))
            yield f"run the command {line!r}{f' with{handed[4:]}' if handed else ''} ({place})"
    for key in _SERVERS:
        if isinstance(settings.get(key), str):
            yield f"send data{handed} to {settings[key]} ({place})"
    for key, item in settings.items():
        yield from _reaches(item, f"{place}.{key}")
