"""What is no regular file, and homes that do not exist: one line, at once, wherever a person names a path."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from runner.config import own_path
from tests.support.imported import command, write_json
from tests.support.recorded import answered, arm_config, write_run

CSV = "id,label\nq1,CORRECT\n"


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    write_json(tmp_path / "f.json", [{"question_id": "q", "label": True}])
    (tmp_path / "t.csv").write_text(CSV)
    for number, name in enumerate("ab"):
        rows = [answered(i, (i + number) % 3 == 0, keys=f"{name}{i}") for i in range(60)]
        write_run(tmp_path / name, rows, arm=arm_config(name))
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ("import", "longmemeval", "pipe"),
        ("import", "longmemeval", "/dev/zero"),
        ("import", "table", "t.csv", "--map", "pipe"),
        ("import", "evermemos", "f.json", "--patches", "pipe"),
        ("gate", "a", "b", "gate.calibration=pipe"),
        ("gate", "a", "b", "gate.human=pipe"),
        ("gate", "a", "b", "gate.band=from:pipe"),
    ],
    ids=" ".join,
)
def test_a_pipe_or_a_device_is_refused_at_once(places: Path, words: tuple[str, ...]) -> None:
    done = command(*words)
    assert done.returncode != 0
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("import", "longmemeval", "~nobody-here/f.json"),
        ("import", "longmemeval", "f.json", "--into", "~nobody-here/q"),
        ("gate", "a", "b", "gate.calibration=~nobody-here/c"),
        ("gate", "a", "b", "gate.human=~nobody-here/c"),
        ("gate", "a", "b", "gate.band=from:~nobody-here"),
    ],
    ids=" ".join,
)
def test_a_home_that_is_none_is_a_name_like_any(places: Path, words: tuple[str, ...]) -> None:
    done = command(*words)
    assert "Traceback" not in done.stderr
    assert "home directory" not in done.stderr


def test_a_home_is_expanded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert own_path("~/x") == tmp_path / "x"
    assert own_path("~nobody-here/x") == Path("~nobody-here/x")


def test_what_is_no_promptfoo_file_is_told(places: Path) -> None:
    (places / "p.jsonl").write_text('{"question_id": "a", "label": true}\n')
    done = command("import", "promptfoo", "p.jsonl")
    assert (done.returncode, "these are no promptfoo results" in done.stderr) == (2, True)


def test_a_format_of_one_s_own_that_fails_is_one_line(places: Path, cli: Any) -> None:
    (places / "mine" / "imports").mkdir(parents=True)
    (places / "mine" / "imports" / "ours.py").write_text(
        "from runner.imports import Format\n\n\nclass Ours(Format):\n"
        "    def read(self, files):\n        raise KeyError('score')\n\n\nFORMAT = Ours\n"
    )
    done = cli("import", "ours", "f.json", "--config-dir", "mine", cwd=places)
    assert done.returncode != 0
    assert "this format of your own failed: KeyError: 'score'" in done.stderr
    assert "Traceback" not in done.stderr


def test_one_run_is_not_known_right_and_known_wrong(places: Path) -> None:
    done = command("calibrate", "--known-wrong", "a", "--known-right", "a")
    assert (done.returncode, "a run's answers are of one kind" in done.stderr) == (2, True)
