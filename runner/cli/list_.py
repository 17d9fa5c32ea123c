"""``list [GROUP]``: what can be chosen, each with the command that runs it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from runner.cli._words.choices import GROUPS, choices
from runner.cli._words.flags import Flags
from runner.cli._words.hydra_flags import CONFIG_DIR
from runner.config import conf_dir, did_you_mean
from runner.errors import UsageError

_FLAGS: Final = Flags("list", many=CONFIG_DIR)


def main(argv: list[str]) -> int:
    given = _FLAGS.parse(argv)
    singular = (name.removesuffix("s") if name.removesuffix("s") in GROUPS else name for name in given.words)
    wanted = list(singular) or list(GROUPS)
    for name in wanted:
        if name not in GROUPS:
            raise UsageError(f"list {name}: no such group{did_you_mean(name, GROUPS)}; there are {', '.join(GROUPS)}")
    folders = [conf_dir(), *given.config_dirs()]
    for group in wanted:
        print(f"{group}:")
        found = choices(group, folders)
        width = max((len(name) for name in found), default=0)
        for name, file in found.items():
            print(f"  {name:<{width}}  {_about(file)}".rstrip())
    return 0


def _about(file: Path) -> str:
    """Return the first sentence of a choice's head that is not a command."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    comments = []
    for line in lines:
        if not line.startswith("#"):
            break
        comments.append(line.removeprefix("#").strip())
    text = " ".join(line for line in comments if "python -m runner" not in line and not line.startswith("@package"))
    end = text.find(". ")
    return text if end < 0 else text[: end + 1]
