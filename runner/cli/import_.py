"""``import FORMAT FILE ...``: results of another harness as run directories that a gate can read."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from runner.cli._words import directories, own_folders
from runner.cli._words.directories import shown
from runner.cli._words.flags import Flags
from runner.config import own_path
from runner.errors import RunnerError, UsageError
from runner.safe import looks_secret, mask, printable

_USAGE: Final = "import takes a format and its files: python -m runner import FORMAT FILE [FILE ...] [--name NAME]"
_ONCE: Final = ("--name", "--into", "--harness", "--expect", "--dataset")
_MANY: Final = ("--patches", "--config-dir")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,79}")


def main(argv: list[str]) -> int:
    from runner import imports

    given = Flags("import", others=True).parse(argv)
    words = given.words
    own_folders.add(given.config_dirs())
    if not words:
        raise UsageError(f"{_USAGE}; formats: {', '.join(imports.names())}")
    form = imports.find(words[0])
    own = [f"--{name}" for name in form.Settings.model_fields]
    given = Flags(f"import {words[0]}", valued=(*_ONCE, *own), many=_MANY).parse(argv)
    if len(words) < 2:
        raise UsageError(_USAGE)
    from runner.data.fields import slug
    from runner.imports._shared.prepare import ImportRequest, prepare_arms
    from runner.imports._shared.write import write

    wanted = ImportRequest(
        name=_name(given.value("--name")),
        harness=_harness(given.value("--harness")),
        expect=_number(given.value("--expect")),
        patches=given.values("--patches"),
        dataset=given.value("--dataset"),
    )
    built = form({flag.removeprefix("--"): value for flag, value in given.flags if flag in own})
    try:
        arms = prepare_arms(built, words[1:], wanted)
    except RunnerError:
        raise
    except Exception as error:
        if Path(inspect.getfile(type(built))).is_relative_to(Path(__file__).parents[1]):
            raise
        raise RunnerError(
            f"import {words[0]}: this format of your own failed: {type(error).__name__}: {error}"
        ) from error
    label = arms[0].name if len(arms) == 1 else wanted.name or Path(words[1]).stem
    into = given.value("--into")
    target = directories.new(slug(label)) if into is None else own_path(into)
    paths = write(arms, target)
    for arm, path in zip(arms, paths, strict=True):
        for line in arm.lines:
            print(printable(mask(line)))
        print(printable(f"{arm.name} → {shown(path.absolute())}"))
    print(printable(_next(paths)))
    return 0


def _name(value: str | None) -> str | None:
    if value is not None and (not _NAME.fullmatch(value) or looks_secret("name", value)):
        raise UsageError("import --name: give letters, digits and _ . + -, up to 80 of them")
    return value


def _harness(value: str | None) -> str | None:
    if value is not None and not re.fullmatch(r"[a-z][a-z0-9_]{0,59}", value):
        raise UsageError("import --harness: give the name of a benchmark, in lower-case letters, digits and _")
    return value


def _number(value: str | None) -> int | None:
    if value is not None and not re.fullmatch(r"[1-9][0-9]{0,8}", value):
        raise UsageError(f"import --expect {value}: give a number of questions")
    return None if value is None else int(value)


def _next(paths: Sequence[Path]) -> str:
    places = [shlex.quote(shown(path.absolute())) for path in paths]
    if len(places) == 1:
        return f"compare it: python -m runner gate OTHER {places[0]}"
    return f"compare them: python -m runner gate {' '.join(places)}"
