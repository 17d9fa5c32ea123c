"""The words of a command line, checked before anything heavy is imported.

A misspelt group, choice or key, and a value that looks like a credential, are told at once: the config system is never
started, so nothing is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, get_args, get_origin

import yaml
from pydantic import BaseModel

from runner.cli._words import own_folders as folders_of_code
from runner.cli._words.shorthand import FLAGS as SHORTHAND
from runner.config import Experiment, conf_dir, did_you_mean, flatten, keys_of, odd_values, own_path
from runner.errors import ConfigError, UsageError
from runner.safe import looks_secret, secrets_in

GROUPS: Final = ("harness", "arm", "reader", "judge", "slice", "budget", "gate", "experiment")
# Groups that are not in the defaults list and need a plus; both spellings work.
_PLUS: Final = ("arm", "experiment")
_OVERRIDE = re.compile(r"^(?P<sign>\+\+|\+|~)?(?P<key>[A-Za-z_][\w./@-]*)(?:=(?P<value>.*))?$", re.DOTALL)
# Flags of the config system that take a value, and those that only ask.
_VALUED: Final = ("--config-dir", "-cd", "--config-name", "-cn", "--config-path", "-cp", "--package", "-p")
# A credential by the name of its key, inside a list or mapping written on the command line.
_SECRET_WITHIN = re.compile(
    r"(?i)[{,\s'\"][\w.-]*(password|passwd|secret|token|api[_-]?key|credential)['\"]?\s*:\s*['\"]?[^\s,}\]'\"$]{8,}"
)
_NO_RUN: Final = ("", "null")
_MOST_HINTS: Final = 4  # places of one name that are shown
_PLAIN_PATH = re.compile(r"[\w./-]+")  # what the config system's grammar takes without quotes
SWEEPING: Final = ("-m", "--multirun")
CONFIG_DIR: Final = ("--config-dir", "-cd")
_ASKING: Final = ("--cfg", "-c", "--info", "-i", "--hydra-help", "--shell-completion", "-sc")
_FLAGS: Final = (
    *_VALUED,
    *_ASKING,
    *("--multirun", "-m", "--run", "-r", "--resolve", "--experimental-rerun", "--version", "--help", "-h", "--json"),
)


def passes_through(argv: Sequence[str]) -> bool:
    """Whether the words are for the config system itself (shell completion, its own help)."""
    return any(word.split("=")[0] in ("--hydra-help", "--shell-completion", "-sc") for word in argv)


def words(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split into overrides and everything else (flags with their values)."""
    overrides: list[str] = []
    flags: list[str] = []
    rest = iter(argv)
    for word in rest:
        if word.startswith("-"):
            flags.append(word)
            if word in _VALUED or word in ("--cfg", "-c"):
                flags += [following for following in (next(rest, None),) if following is not None]
        else:
            overrides.append(word)
    return overrides, flags


def config_dirs(argv: Sequence[str]) -> list[Path]:
    """Folders of the user's own choices.

    Raises
    ------
    UsageError
        When one is not a folder.
    """
    found = []
    _, flags = words(argv)
    for index, flag in enumerate(flags):
        value = None
        if flag in ("--config-dir", "-cd") and index + 1 < len(flags):
            value = flags[index + 1]
        elif flag.startswith(("--config-dir=", "-cd=")):
            value = flag.split("=", 1)[1]
        if value is not None:
            folder = Path(value)
            if not folder.is_dir():
                raise UsageError(f"--config-dir {value}: no such folder")
            found.append(folder)
    return found


def choices(group: str, folders: Iterable[Path]) -> dict[str, Path]:
    """The choices of a group by name; shipped ones first, so that they cannot be redefined."""
    found: dict[str, Path] = {}
    for folder in folders:
        for file in sorted((folder / group).glob("*.yaml")):
            found.setdefault(file.name.removesuffix(".yaml"), file)
    return found


def rewritten(argv: Sequence[str]) -> list[str]:
    """``arm=x`` as ``+arm=x``, and the same for ``experiment``: the defaults list has neither.

    Overrides come before flags, wherever a person put them: the config system's parser takes them in one piece.
    """
    overrides, flags = words(argv)
    return [_plus(_anchored(word)) for word in overrides] + flags


def _anchored(word: str) -> str:
    """``run.from=DIR,DIR`` with absolute paths: a sweep that writes its jobs down can be resumed from any folder."""
    key, sign, value = word.partition("=")
    if key.lstrip("+") != "run.from" or value in _NO_RUN or any(mark in value for mark in "([{$*'\"\\"):
        return word
    places = [str(own_path(place).absolute()) for place in value.split(",")]
    return f"{key}{sign}" + ",".join(p if _PLAIN_PATH.fullmatch(p) else f"'{p}'" for p in places)


def _plus(word: str) -> str:
    """Add the plus signs that a person need not know: of groups without a default, of keys a YAML leaves at theirs."""
    key = word.partition("=")[0]
    if key in _PLUS:
        return f"+{word}"
    model: Any = Experiment
    for part in key.split("."):
        fields = keys_of(model)
        if part not in fields:
            return word
        model = _inner(fields[part].annotation)
    modelled = key.startswith(("reader.", "judge.", "slice.", "gate.", "budget.", "run."))
    return f"++{word}" if modelled and model is None else word


def checked(argv: Sequence[str], verbs: Iterable[str]) -> list[str]:
    """The words, unchanged, when nothing is wrong with their spelling.

    Raises
    ------
    UsageError
        For a word that is neither a verb nor an override, or a flag without its value.
    ConfigError
        For unknown groups, choices and keys, and for values that look like credentials: all of them at once.
    """
    overrides, flags = words(argv)
    mine = config_dirs(argv)
    folders = [conf_dir(), *mine]
    asking = any(flag.split("=")[0] in _ASKING for flag in flags)
    for flag in flags:
        name = flag.split("=")[0]
        if flag.startswith("-") and name not in _FLAGS:
            hint = did_you_mean(name, (*_FLAGS, *SHORTHAND))
            raise UsageError(f"{name}: no such flag{hint}; see python -m runner --help")
    folders_of_code.add(mine)
    problems = _secret_files(mine)
    chosen: dict[str, list[Path]] = {}
    unknown: set[str] = set()  # groups of which it is not known what was chosen: their keys are not checked
    parsed = []
    for word in overrides:
        match = _OVERRIDE.match(word)
        if match is None or (match["value"] is None and match["sign"] != "~"):
            hint = did_you_mean(word, verbs)
            raise UsageError(f"'{word}' is neither a verb nor KEY=VALUE{hint}; see python -m runner --help")
        key, value = match["key"], match["value"] or ""
        if looks_secret(key, value.strip("'\"")) or _SECRET_WITHIN.search(value):
            problems.append(
                f"{key}: the value looks like a credential; put it into the environment and name the variable "
                f"({key.split('.')[0]}.api_key_env=OPENAI_API_KEY)"
            )
            continue
        parsed.append((match["sign"] or "", key, value))
        if key.split("@")[0] in GROUPS and value:
            wrong = _check_choices(key.split("@")[0], value, folders, chosen)
            if wrong or _computed(value):
                unknown.add(key.split("@")[0])
            problems += wrong
    for group, name in _defaults().items():
        known = choices(group, folders)
        # An experiment may choose for a group that the command line leaves alone.
        if group not in chosen and group not in unknown and name in known and not chosen.get("experiment"):
            chosen[group] = [known[name]]
    for sign, key, value in parsed:
        group = key.split("@")[0]
        if group not in GROUPS and not key.startswith("hydra") and key.split(".")[0] not in unknown:
            problems += _check_key(key, sign, value, chosen)
    recorded = any(key == "run.from" and value not in _NO_RUN for _, key, value in parsed)
    if recorded:
        from runner.experiment.regrade.source import unknown_key

        problems += [line for _, key, _ in parsed if (line := unknown_key(key)) is not None]
    if problems:
        raise ConfigError(list(dict.fromkeys(problems)))
    has_arm = recorded or any(key in _PLUS for _, key, _ in parsed)
    if not has_arm and not asking:
        names = ", ".join(choices("arm", folders))
        raise ConfigError([f"arm: choose one, +arm=NAME (a sweep: -m +arm=NAME,NAME); there are {names}"])
    if not asking and not ({"-m", "--multirun"} & set(flags)):
        for sign, key, value in parsed:
            several = key in _PLUS or (recorded and key in ("run.from", "judge"))
            if several and "," in value and "[" not in value:
                plus = sign or ("+" if key in _PLUS else "")
                raise UsageError(f"{plus}{key}={value} names several: add -m to sweep over them")
    return list(argv)


def _secret_files(folders: Sequence[Path]) -> list[str]:
    """Credentials in the user's own YAML: the sweeper writes composed configs before a job can refuse them."""
    problems = []
    for folder in folders:
        for file in sorted(folder.rglob("*.yaml")):
            try:
                value = yaml.safe_load(file.read_text(encoding="utf-8"))
            except (OSError, UnicodeDecodeError, yaml.YAMLError):
                continue  # the config system tells this better, if the file is chosen
            except RecursionError:
                problems.append(f"{file}: is nested too deeply")
                continue
            if isinstance(value, dict):
                odd = [f"{file}: {line}" for line in odd_values(value) if "holds itself" in line]
                if odd:
                    problems += odd
                    continue
                problems += [
                    f"{file}: {key} holds what looks like a credential; name an environment variable instead "
                    f"(api_key_env: OPENAI_API_KEY)"
                    for key in secrets_in(value)
                ]
    return problems


def _computed(value: str) -> bool:
    """Whether a value is sweep syntax or an interpolation: the config system's business."""
    return any(mark in value for mark in "([{$*")


def _check_choices(group: str, value: str, folders: Sequence[Path], chosen: dict[str, list[Path]]) -> list[str]:
    if _computed(value):
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


def _defaults() -> dict[str, str]:
    """The choices of the shipped defaults list, for groups that the command line does not name."""
    listed = yaml.safe_load((conf_dir() / "config.yaml").read_text(encoding="utf-8"))["defaults"]
    return {k: str(v) for item in listed if isinstance(item, dict) for k, v in item.items() if k in GROUPS}


def _check_key(key: str, sign: str, value: str, chosen: Mapping[str, Sequence[Path]]) -> list[str]:
    """A dotted key against the models; below a free mapping, against the YAML of the chosen choices."""
    model: Any = Experiment
    parts = key.split(".")
    files = chosen.get(parts[0], [])
    for index, part in enumerate(parts):
        fields = keys_of(model)
        if not fields:
            if _is_mapping(model) and not sign:
                return _check_free(parts, index, files)
            return [] if _is_mapping(model) else [f"{key}: '{'.'.join(parts[:index])}' has no keys below it"]
        if part not in fields:
            known = list(fields) + (list(GROUPS) if index == 0 else [])
            prefix = ".".join(parts[:index]) or "the config"
            has = ", ".join(dict.fromkeys(known))
            hint = _elsewhere(parts[-1], chosen) or did_you_mean(part, known)
            return [f"{key}: no such key{hint}; {prefix} has {has}"]
        model = _inner(fields[part].annotation)
    below = list(keys_of(model))
    if below and sign != "~" and value not in _NO_RUN and not _computed(value):
        return [
            f"{key}: holds keys and takes no value (did you mean {key}.{below[0]}={value}?); it has {', '.join(below)}"
        ]
    return []


def _elsewhere(name: str, chosen: Mapping[str, Sequence[Path]]) -> str:
    """The hint of a key that stands elsewhere: in a section, or in what a chosen YAML states; else nothing."""
    places = _places(Experiment, name)
    for group, files in chosen.items():
        for file in files if group in Experiment.model_fields else ():
            try:
                stated = yaml.safe_load(file.read_text(encoding="utf-8"))
            except (OSError, UnicodeDecodeError, yaml.YAMLError):
                continue
            keys = flatten(stated) if isinstance(stated, dict) else {}
            places += [f"{group}.{key}" for key in keys if key.rpartition(".")[2] == name]
    found = list(dict.fromkeys(places))
    *most, last = found or [""]
    return f" (did you mean {', '.join(most)}{' or ' if most else ''}{last}?)" if 0 < len(found) <= _MOST_HINTS else ""


def _places(model: Any, name: str) -> list[str]:
    """The dotted keys of a section whose last part is a name."""
    found = []
    for key, field in keys_of(model).items():
        found += [key] if key == name else []
        found += [f"{key}.{place}" for place in _places(_inner(field.annotation), name)]
    return found


def _check_free(parts: list[str], depth: int, files: Sequence[Path]) -> list[str]:
    """A key below ``arm.knobs`` or the like must be stated by every chosen YAML; a plus adds one that is not."""
    key, section = ".".join(parts), ".".join(parts[:depth])
    problems = []
    for file in files:
        try:
            value: Any = yaml.safe_load(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError):
            continue
        if isinstance(value, dict) and "defaults" in value:
            continue  # states its keys through another file: the config system knows
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


def _inner(annotation: Any) -> Any:
    """The model or mapping inside ``Annotated`` and ``| None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) is dict:
        return dict
    for item in get_args(annotation):
        found = _inner(item)
        if found is not None:
            return found
    return None


def _is_mapping(model: Any) -> bool:
    return model is dict
