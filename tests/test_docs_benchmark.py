"""docs/your-own-benchmark.md works as written: its files run, its rule grades, what it says is refused is refused."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.cli import VERBS
from runner.cli._words import overrides
from tests.conftest import ROOT, runs_in

Cli = Callable[..., "subprocess.CompletedProcess[str]"]

TEXT = (ROOT / "docs" / "your-own-benchmark.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"`(mine/[\w/.]+)`[^`]*(?:`[^`\n]+`[^`]*)*:\n\n```\w+\n(.*?)```", TEXT, re.DOTALL))
BLOCK = TEXT[TEXT.index("## Run it") :].split("```")[1]
COMMANDS = [shlex.split(line.removeprefix("python -m runner ")) for line in BLOCK.strip().splitlines()]
CODE = "mine/harness/door_codes.py"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_there_is_something_to_test() -> None:
    assert set(FILES) == {"mine/doors.jsonl", CODE, "mine/harness/door_codes.yaml"}
    assert len(COMMANDS) == 3


@pytest.mark.parametrize(
    "words", [*COMMANDS[1:], shlex.split(FILES["mine/harness/door_codes.yaml"].split("\n")[0])[4:]]
)
def test_every_command_line_is_spelt_right(words: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    overrides.checked(words, VERBS)


@pytest.mark.long
def test_it_is_counted_run_and_graded_by_its_rule(cli: Cli, folder: Path) -> None:
    counted = cli(*COMMANDS[0])
    assert counted.returncode == 0, counted.stderr
    assert "door_codes: 6 sites" in counted.stdout
    done = cli(*COMMANDS[1])
    assert done.returncode in (0, 3, 4), done.stderr
    groups = [json.loads((run / "summary.json").read_text())["groups"] for run in runs_in(folder / "outputs")]
    assert groups[1]["current current"]["recall@1"] == 1.0, "the control that reads the gold"
    assert groups[0]["first first"]["questions"] == 6
    instrument = json.loads((runs_in(folder / "outputs")[0] / "instrument.json").read_text())
    assert "@sha256:" in instrument["rows"]["harness"]
    words = [word for word in COMMANDS[2] if not word.startswith("reader=")]
    graded = cli(*words, "reader=extractive_fake", "hydra.sweep.dir=graded")
    assert graded.returncode == 5, graded.stderr
    assert "fake" in graded.stdout
    rows = [
        json.loads(line) for run in runs_in(folder / "graded") for line in (run / "rows.jsonl").read_text().splitlines()
    ]
    assert len(rows) == 24
    assert {row["label"] for row in rows} == {"CORRECT"}, "a date in the context is no code"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('cluster = "site"', "", "DoorCodes has no 'cluster'"),
        ('rules = ("digits",)', "rules = ()", "its rule 'digits' is not among the rules of the class"),
        ("evidence=(events[row[name][1]].id,)", 'evidence=("e9",)', "its evidence 'e9' is no event"),
        ("evidence=(events[row[name][1]].id,)", "evidence=row[name][0]", "gold.evidence is a tuple of texts"),
        ("START + day * DAY", "START - day * DAY", "events come in time order"),
        ("map(json.loads", "map(json.load", "AttributeError"),
    ],
)
def test_what_it_says_is_refused(cli: Cli, folder: Path, old: str, new: str, says: str) -> None:
    text = FILES[CODE]
    assert old in text
    (folder / CODE).write_text(text.replace(old, new))
    done = cli(*COMMANDS[0])
    assert done.returncode == 2, done.stdout
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.long
def test_a_folder_does_as_well_and_is_hashed_alone(cli: Cli, folder: Path) -> None:
    package = (folder / CODE).with_suffix("")
    package.mkdir()
    (folder / CODE).rename(package / "__init__.py")
    words = [word for word in COMMANDS[2] if not word.startswith(("reader=", "judge=", "-m", "+arm="))]

    def code(name: str) -> str:
        done = cli(*words, "+arm=bm25", f"hydra.run.dir={name}")
        assert done.returncode == 0, done.stderr
        return str(json.loads((folder / name / "instrument.json").read_text())["rows"]["harness"])

    first = code("first")
    (package.parent / "beside.py").write_text("another benchmark")
    assert code("beside") == first
    (package / "format.py").write_text("# a part of this one")
    assert code("within") != first
