"""Runs, a sweep and a calibration that an earlier version recorded: the same numbers, and a resume that goes on."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from tests.conftest import ROOT

RECORDS = ROOT / "tests" / "records"
EXPECTED = RECORDS / "expected"
SWEEPS = {"retrieval": 3, "answers": 4, "killed": 1, "musique": 4, "nli": 5, "handoff": 4}  # the gate's exit code
TIMES = ("started", "usage")  # of a row: when it was asked, and how long that took

Cli = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the records as the current folder, so that paths are printed as they were."""
    copy = tmp_path / "records"
    shutil.copytree(RECORDS, copy)
    monkeypatch.chdir(copy)
    return copy


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    capsys.readouterr()
    code = main(words)
    return code, capsys.readouterr().out


@pytest.mark.parametrize("sweep", SWEEPS)
def test_the_gate_says_the_same(sweep: str, records: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = printed(capsys, "gate", sweep, "--json")
    assert code == SWEEPS[sweep]
    assert json.loads(out) == json.loads((EXPECTED / f"{sweep}.gate.json").read_text())


def test_a_calibration_corrects_as_before(records: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = printed(capsys, "gate", "answers", "gate.calibration=calibration", "--json")
    assert code == SWEEPS["answers"]
    assert json.loads(out) == json.loads((EXPECTED / "answers.corrected.json").read_text())


@pytest.mark.parametrize("sweep", [sweep for sweep in SWEEPS if sweep != "killed"])
def test_the_report_shows_the_same(sweep: str, records: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = printed(capsys, "report", sweep)
    assert code == SWEEPS[sweep]
    assert out == (EXPECTED / f"{sweep}.report.txt").read_text()


@pytest.mark.parametrize("sweep", ["retrieval", "musique", "nli", "handoff"])
def test_the_report_exports_the_same(sweep: str, records: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out = printed(capsys, "report", sweep, "--json")
    assert json.loads(out) == json.loads((EXPECTED / f"{sweep}.report.json").read_text())


def test_the_misses_are_staged_as_before(records: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = printed(capsys, "report", "answers", "--failures", "--json")
    assert code == 0
    assert json.loads(out) == json.loads((EXPECTED / "answers.failures.json").read_text())


@pytest.mark.parametrize("sweep", ["retrieval", "answers", "musique", "nli", "handoff"])
def test_a_diff_names_the_same_keys(sweep: str, records: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = sorted(path.name for path in (records / sweep).iterdir() if path.is_dir())[:2]
    code, out = printed(capsys, "diff", f"{sweep}/{first}", f"{sweep}/{second}", "--all", "--json")
    assert code == 0
    assert json.loads(out) == json.loads((EXPECTED / f"{sweep}.diff.json").read_text())


def rows_of(run: Path) -> dict[str, dict[str, Any]]:
    rows = [json.loads(line) for line in (run / "rows.jsonl").read_text().splitlines()]
    return {row["id"]: {key: value for key, value in row.items() if key not in TIMES} for row in rows}


def test_a_killed_sweep_is_finished(records: Path, cli: Cli) -> None:
    """It asks what is left and nothing twice, and ends with the rows of the sweep that was not killed."""
    before = {path: path.read_bytes() for path in (records / "killed").rglob("calls.jsonl")}
    done = cli("resume", "killed", "--trust", cwd=records)
    assert "Traceback" not in done.stderr
    assert done.returncode == 0, done.stderr  # the oracle against bm25: a pass
    for arm, twin in (("0-bm25", "0-bm25"), ("1-oracle", "2-oracle")):
        rows = rows_of(records / "killed" / arm)
        assert len(rows) == 28
        assert rows == rows_of(records / "answers" / twin)
    for path, calls in before.items():
        assert path.read_bytes().startswith(calls)
        keys = [
            (call["question"], call["role"], call["repeat"]) for call in map(json.loads, path.read_text().splitlines())
        ]
        assert len(keys) == len(set(keys))


def test_a_finished_sweep_has_nothing_to_resume(records: Path, cli: Cli) -> None:
    before = {path: path.read_bytes() for path in (records / "retrieval").rglob("*.jsonl")}
    done = cli("resume", "retrieval", cwd=records)
    assert done.returncode == SWEEPS["retrieval"], done.stderr
    assert done.stdout.count("finished already, nothing to do") == 3
    assert {path: path.read_bytes() for path in (records / "retrieval").rglob("*.jsonl")} == before
