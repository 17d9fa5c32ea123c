"""The words of a command line, checked before anything heavy is imported.

A misspelt group, choice or key, and a value that looks like a credential, are told at once: the config system is never
started, so nothing is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from runner.cli._words import own_folders
from runner.cli._words.choices import GROUPS, choices, defaults
from runner.cli._words.credentials import credential_files, holds_credential
from runner.cli._words.hydra_flags import ASKING, FLAGS, SWEEPING, config_dirs, split
from runner.cli._words.keys import NO_RUN, computed, key_problems
from runner.cli._words.rewriting import PLUS
from runner.cli._words.shorthand import FLAGS as SHORTHAND
from runner.config import conf_dir, did_you_mean
from runner.errors import ConfigError, UsageError

_OVERRIDE = re.compile(r"^(?P<sign>\+\+|\+|~)?(?P<key>[A-Za-z_][\w./@-]*)(?:=(?P<value>.*))?$", re.DOTALL)


def checked(argv: Sequence[str], verbs: Iterable[str]) -> list[str]:
    """Return the words unchanged when nothing is wrong with their spelling.

    Raises
    ------
    UsageError
        For a word that is neither a verb nor an override, or a flag without its value.
    ConfigError
        For unknown groups, choices and keys, and for values that look like credentials: all of them at once.
    """
    overrides, flags = split(argv)
    mine = config_dirs(argv)
    folders = [conf_dir(), *mine]
    asking = any(flag.split("=")[0] in ASKING for flag in flags)
    for flag in flags:
        name = flag.split("=")[0]
        if flag.startswith("-") and name not in FLAGS:
            hint = did_you_mean(name, (*FLAGS, *SHORTHAND))
            raise UsageError(f"{name}: no such flag{hint}; see python -m runner --help")
    own_folders.add(mine)
    problems = credential_files(mine)
    chosen: dict[str, list[Path]] = {}
    unknown: set[str] = set()  # groups of which it is not known what was chosen: their keys are not checked
    parsed = []
    for word in overrides:
        match = _OVERRIDE.match(word)
        if match is None or (match["value"] is None and match["sign"] != "~"):
            hint = did_you_mean(word, verbs)
            raise UsageError(f"'{word}' is neither a verb nor KEY=VALUE{hint}; see python -m runner --help")
        key, value = match["key"], match["value"] or ""
        if holds_credential(key, value):
            problems.append(
                f"{key}: the value looks like a credential; put it into the environment and name the variable "
                f"({key.split('.')[0]}.api_key_env=OPENAI_API_KEY)"
            )
            continue
        parsed.append((match["sign"] or "", key, value))
        if key.split("@")[0] in GROUPS and value:
            wrong = _choice_problems(key.split("@")[0], value, folders, chosen)
            if wrong or computed(value):
                unknown.add(key.split("@")[0])
            problems += wrong
    for group, name in defaults().items():
        known = choices(group, folders)
        # An experiment may choose for a group that the command line leaves alone.
        if group not in chosen and group not in unknown and name in known and not chosen.get("experiment"):
            chosen[group] = [known[name]]
    for sign, key, value in parsed:
        group = key.split("@")[0]
        if group not in GROUPS and not key.startswith("hydra") and key.split(".")[0] not in unknown:
            problems += key_problems(key, sign, value, chosen)
    recorded = any(key == "run.from" and value not in NO_RUN for _, key, value in parsed)
    if recorded:
        from runner.experiment.regrade.source import unknown_key

        problems += [line for _, key, _ in parsed if (line := unknown_key(key)) is not None]
    if problems:
        raise ConfigError(list(dict.fromkeys(problems)))
    has_arm = recorded or any(key in PLUS for _, key, _ in parsed)
    if not has_arm and not asking:
        names = ", ".join(choices("arm", folders))
        raise ConfigError([f"arm: choose one, +arm=NAME (a sweep: -m +arm=NAME,NAME); there are {names}"])
    if not asking and not (set(SWEEPING) & set(flags)):
        for sign, key, value in parsed:
            several = key in PLUS or (recorded and key in ("run.from", "judge"))
            if several and "," in value and "[" not in value:
                plus = sign or ("+" if key in PLUS else "")
                raise UsageError(f"{plus}{key}={value} names several: add -m to sweep over them")
    return list(argv)


def _choice_problems(group: str, value: str, folders: Sequence[Path], chosen: dict[str, list[Path]]) -> list[str]:
    if computed(value):
        return []
    known = choices(group, folders)
    problems = []
    for name in value.split(","):
        name = name.strip().strip("'\"")
        if name in known:
            chosen.setdefault(group, []).append(known[name])
        elif name != "null":
            problems.append(
                f"{group}={name}: no such choice{did_you_mean(name, known)}; there are {', '.join(known) or 'none'}"
            )
    return problems
