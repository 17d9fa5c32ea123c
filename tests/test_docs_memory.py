"""docs/your-own-memory.md works as written: its files run, its output is what they print, its settings exist."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.cli import VERBS
from runner.cli._words import overrides
from runner.cli.run import compose
from runner.config import load
from runner.system import build
from runner.system.command import CommandSettings
from runner.system.http import HttpSettings
from tests.conftest import ROOT

pytestmark = pytest.mark.long

Cli = Callable[..., "subprocess.CompletedProcess[str]"]

TEXT = (ROOT / "docs" / "your-own-memory.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"`(mine/[\w/.]+)`:\n\n```\w+\n(.*?)```", TEXT, re.DOTALL))
COMMANDS = re.findall(r"python -m runner ([^`\n#]+)", TEXT)
OUTPUTS = re.findall(r"```\n((?:contract|synthetic_memory).*?)```", TEXT, re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def squeezed(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_there_is_something_to_test() -> None:
    assert {"mine/memory.py", "mine/arm/own.yaml", "mine/arm/served.yaml", "mine/arm/graph.yaml"} == set(FILES)
    assert len(COMMANDS) >= 7
    assert len(OUTPUTS) == 3


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_line_is_spelt_right(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    # The README's arm, with the setting that the page adds to it.
    (folder / "mine/arm/notebook.yaml").write_text("name: notebook\nsystem: notebook\nsettings: {stem: false}\n")
    words = shlex.split(line)
    if words[0] == "gate":  # of two directories, which a reader fills in
        words = ["+arm=no_memory", *(word for word in words[1:] if not word.isupper())]
    overrides.checked(words[1:] if words[0] in VERBS else words, VERBS)


@pytest.mark.parametrize("name", ["own", "served", "graph"])
def test_every_arm_of_it_is_taken(name: str, folder: Path) -> None:
    build(load(compose([f"+arm={name}"], [folder / "mine"])).arm)


def test_it_prints_what_is_shown(cli: Cli, folder: Path) -> None:
    table, contract, _ = OUTPUTS
    done = cli("-m", "+arm=bm25,own", "--config-dir", "mine")
    assert done.returncode == 3, done.stderr  # the gate fails: this memory is the worse one
    printed = squeezed(done.stdout)
    assert [line for line in squeezed(table) if line not in printed] == []
    checked = cli("check", "+arm=own", "--config-dir", "mine")
    assert checked.returncode == 0, checked.stderr
    printed = squeezed(checked.stdout)
    assert [line for line in squeezed(contract) if line not in printed] == []


def test_every_setting_that_it_names_exists() -> None:
    section = TEXT[TEXT.index("### Settings") : TEXT.index("### When it goes wrong")]
    named = {
        name for cell in re.findall(r"^\| ([^|]+) \|", section, re.MULTILINE) for name in re.findall(r"`(\w+)`", cell)
    }
    assert named == set(CommandSettings.model_fields) - {"ops", "probe"}
    assert {"serve", "limits", "about", "auth", "drop_derived"} <= set(HttpSettings.model_fields)
