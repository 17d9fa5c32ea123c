"""``import FORMAT FILE ...``: results of another harness as run directories that a gate can read."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from runner.cli import folders
from runner.cli.perform import shown
from runner.config import did_you_mean, own_path
from runner.errors import RunnerError, UsageError
from runner.safe import looks_secret, mask, printable

_USAGE: Final = "import takes a format and its files: python -m runner import FORMAT FILE [FILE ...] [--name NAME]"
_COMMON: Final = ("--name", "--into", "--harness", "--expect", "--patches", "--dataset", "--config-dir")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,79}")


def main(argv: list[str]) -> int:
    from runner import imports

    words, flags = _split(argv)
    folders.add(_folder(name) for name in flags.pop("--config-dir", []))
    if not words:
        raise UsageError(f"{_USAGE}; formats: {', '.join(imports.names())}")
    form = imports.find(words[0])
    own = [f"--{name}" for name in form.Settings.model_fields]
    for flag in flags:
        if flag not in (*_COMMON, *own):
            there = (*_COMMON, *own)
            raise UsageError(
                f"import {words[0]} {flag}: no such flag{did_you_mean(flag, there)}; there are {', '.join(there)}"
            )
    if len(words) < 2:
        raise UsageError(_USAGE)
    for flag, values in flags.items():
        if len(values) > 1 and flag != "--patches":
            raise UsageError(f"import: {flag} was given twice")
    from runner.imports._prepare import Wanted, prepared
    from runner.imports._write import write

    wanted = Wanted(
        name=_name(flags.get("--name")),
        harness=_harness(flags.get("--harness")),
        expect=_number(flags.get("--expect")),
        patches=flags.get("--patches", []),
        dataset=flags.get("--dataset", [None])[-1],
    )
    built = form({name.removeprefix("--"): values[-1] for name, values in flags.items() if name in own})
    try:
        arms = prepared(built, words[1:], wanted)
    except RunnerError:
        raise
    except Exception as error:
        if Path(inspect.getfile(type(built))).is_relative_to(Path(__file__).parents[1]):
            raise
        raise RunnerError(
            f"import {words[0]}: this format of your own failed: {type(error).__name__}: {error}"
        ) from error
    label = arms[0].name if len(arms) == 1 else wanted.name or Path(words[1]).stem
    target = own_path(flags["--into"][-1]) if "--into" in flags else _place(label)
    paths = write(arms, target)
    for arm, path in zip(arms, paths, strict=True):
        for line in arm.lines:
            print(printable(mask(line)))
        print(printable(f"{arm.name} → {shown(path.absolute())}"))
    print(printable(_next(paths)))
    return 0


def _split(argv: Sequence[str]) -> tuple[list[str], dict[str, list[str]]]:
    """Words, and flags with their values (``--flag VALUE`` or ``--flag=VALUE``)."""
    words: list[str] = []
    flags: dict[str, list[str]] = {}
    rest: Iterator[str] = iter(argv)
    for word in rest:
        if not word.startswith("-") or word == "-":
            words.append(word)
            continue
        flag, sign, value = word.partition("=")
        if not sign:
            given = next(rest, None)
            if given is None or given.startswith("--"):
                raise UsageError(f"import: {flag} needs a value")
            value = given
        flags.setdefault(flag, []).append(value)
    return words, flags


def _folder(name: str) -> Path:
    if not Path(name).is_dir():
        raise UsageError(f"--config-dir {name}: no such folder")
    return Path(name)


def _name(values: list[str] | None) -> str | None:
    if not values:
        return None
    if not _NAME.fullmatch(values[-1]) or looks_secret("name", values[-1]):
        raise UsageError("import --name: give letters, digits and _ . + -, up to 80 of them")
    return values[-1]


def _harness(values: list[str] | None) -> str | None:
    if not values:
        return None
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,59}", values[-1]):
        raise UsageError("import --harness: give the name of a benchmark, in lower-case letters, digits and _")
    return values[-1]


def _number(values: list[str] | None) -> int | None:
    if not values:
        return None
    if not re.fullmatch(r"[1-9][0-9]{0,8}", values[-1]):
        raise UsageError(f"import --expect {values[-1]}: give a number of questions")
    return int(values[-1])


def _place(name: str) -> Path:
    from runner.imports._values import slug

    now = datetime.now()
    return Path("outputs") / f"{now:%Y-%m-%d}" / f"{now:%H%M%S-%f}-{slug(name)}"


def _next(paths: Sequence[Path]) -> str:
    places: Any = [shlex.quote(shown(path.absolute())) for path in paths]
    if len(places) == 1:
        return f"compare it: python -m runner gate OTHER {places[0]}"
    return f"compare them: python -m runner gate {' '.join(places)}"
