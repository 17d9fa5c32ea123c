"""A person's own folder: choices and code of their own, found by name, never in place of a shipped one."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import runs_in

Cli = Callable[..., "subprocess.CompletedProcess[str]"]

SYSTEM = '''
from runner.system import EmbeddedSystem, spoken
from runner.types import Hit, Retrieval


class Last(EmbeddedSystem):
    """The newest events, whatever is asked."""

    def index(self, events, prepared):
        return list(events)[::-1]

    def find(self, store, query):
        found = [Hit(key=e.id, text=spoken(e), sources=(e.id,), time=e.time) for e in store[: query.k]]
        return Retrieval(hits=tuple(found))


SYSTEM = Last
'''
ARM = "name: {name}\nsystem: {system}\n"
SMALL = ("harness.settings.scenarios=40", "harness.settings.questions=2")


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    for kind in ("system", "arm"):
        (folder / kind).mkdir(parents=True)
    (folder / "system" / "last.py").write_text(SYSTEM)
    (folder / "arm" / "last.yaml").write_text(ARM.format(name="last", system="last"))
    return folder


@pytest.mark.long
def test_a_system_of_ones_own_is_found_run_and_gated(cli: Cli, tmp_path: Path, mine: Path) -> None:
    done = cli("-m", "+arm=last,oracle", "--config-dir", "mine", *SMALL)
    assert done.returncode == 0, done.stderr
    assert "PASS" in done.stdout
    run = runs_in(tmp_path / "outputs")[0]
    assert len((run / "rows.jsonl").read_text().splitlines()) == 80


@pytest.mark.long
def test_its_mistakes_are_told(cli: Cli, mine: Path) -> None:
    for text, said in (
        ("def broken(:\n", "SyntaxError"),
        ("import a_package_that_is_not_there\n", "ModuleNotFoundError"),
        ("SYSTEM = 3\n", "must bind SYSTEM to a subclass of MemorySystem"),
        ("", "must bind SYSTEM"),
    ):
        (mine / "system" / "last.py").write_text(text)
        done = cli("+arm=last", "--config-dir", "mine", *SMALL)
        assert done.returncode == 2, done.stderr
        assert said in done.stderr
        assert "Traceback" not in done.stderr


def test_a_shipped_name_cannot_be_redefined(cli: Cli, tmp_path: Path, mine: Path) -> None:
    (mine / "system" / "none.py").write_text(SYSTEM)
    (mine / "arm" / "no_memory.yaml").write_text(ARM.format(name="no_memory", system="last"))
    done = cli("+arm=no_memory", "--config-dir", "mine", *SMALL)
    assert done.returncode == 0, done.stderr
    (run,) = runs_in(tmp_path / "outputs")
    summary = json.loads((run / "summary.json").read_text())
    assert summary["groups"]["overall_comparable"]["recall@5"] == 0.0


@pytest.mark.long
def test_a_recorded_run_names_no_code(cli: Cli, tmp_path: Path, mine: Path) -> None:
    """Resume imports a system of one's own only from a folder that the command line names."""
    assert cli("+arm=last", "--config-dir", "mine", "hydra.run.dir=run", *SMALL).returncode == 0
    rows = tmp_path / "run" / "rows.jsonl"
    rows.write_bytes(b"".join(rows.read_bytes().splitlines(keepends=True)[:10]))
    (tmp_path / "run" / "summary.json").unlink()
    refused = cli("resume", "run")
    assert refused.returncode == 2
    assert "--config-dir" in refused.stderr
    done = cli("resume", "run", "--config-dir", "mine")
    assert done.returncode == 0, done.stderr
    assert len(rows.read_bytes().splitlines()) == 80


def test_a_system_that_raises_gives_rows_not_tracebacks(cli: Cli, tmp_path: Path, mine: Path) -> None:
    text = SYSTEM.replace("return Retrieval", "if query.text[-2] in 'aeiou': 1 / 0\n        return Retrieval")
    (mine / "system" / "last.py").write_text(text)
    done = cli("+arm=last", "--config-dir", "mine", *SMALL)
    assert "Traceback" not in done.stderr
    (run,) = runs_in(tmp_path / "outputs")
    assert "ZeroDivisionError" in (run / "run.log").read_text()
    statuses = json.loads((run / "summary.json").read_text())["statuses"]
    assert 0 < statuses["search_error"] < 80


@pytest.mark.long
def test_a_change_of_ones_own_code_is_seen(cli: Cli, tmp_path: Path, mine: Path) -> None:
    """Before and after under one name: another build, refused until it is declared to be what one varies."""
    assert cli("+arm=last", "--config-dir", "mine", "hydra.run.dir=before", *SMALL).returncode == 0
    (mine / "system" / "last.py").write_text(SYSTEM.replace("[::-1]", ""))
    assert cli("+arm=last", "--config-dir", "mine", "hydra.run.dir=after", *SMALL).returncode == 0
    done = cli("gate", "before", "after")
    assert done.returncode == 5
    assert "server_build" in done.stdout
    declared = cli("gate", "before", "after", "gate.treatment=[server_build]")
    assert declared.returncode in (0, 3, 4)
    assert "ablation of server_build" in declared.stdout


@pytest.mark.long
def test_a_system_that_does_not_open_leaves_the_other_arms_gated(cli: Cli, mine: Path) -> None:
    text = SYSTEM.replace(
        "    def index", "    async def open(self, opening):\n        raise ValueError('no server')\n\n    def index"
    )
    (mine / "system" / "last.py").write_text(text)
    done = cli("-m", "+arm=no_memory,last,oracle", "--config-dir", "mine", *SMALL)
    assert done.returncode == 1
    assert "did not open: ValueError: no server" in done.stderr
    assert "Traceback" not in done.stderr
    assert "PASS" in done.stdout


@pytest.mark.long
def test_a_refactor_that_retrieves_the_same_is_no_failure(cli: Cli, mine: Path) -> None:
    assert cli("+arm=last", "--config-dir", "mine", "hydra.run.dir=before", *SMALL).returncode == 0
    (mine / "system" / "last.py").write_text(SYSTEM + "\n# tidied\n")
    assert cli("+arm=last", "--config-dir", "mine", "hydra.run.dir=after", *SMALL).returncode == 0
    done = cli("gate", "before", "after", "gate.treatment=server_build")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the two builds retrieved the same" in done.stdout


def test_a_system_without_find_is_told_at_once(cli: Cli, mine: Path) -> None:
    (mine / "system" / "last.py").write_text(SYSTEM.replace("def find", "def fnid"))
    done = cli("+arm=last", "--config-dir", "mine", *SMALL)
    assert done.returncode == 2
    assert "must define find" in done.stderr
