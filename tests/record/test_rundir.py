"""Run directories: one owner, plain data, one format."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runner.errors import RecordError, RunnerError, UsageError
from runner.record.rundir import FORMAT, JOURNALS, RunDir, runs_under
from tests.conftest import ROOT


def test_a_second_owner_is_refused_and_told(tmp_path: Path) -> None:
    run = RunDir(tmp_path / "run")
    run.create({"a": 1})
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\nfrom runner.record.rundir import RunDir\n"
        "try:\n    RunDir(Path(sys.argv[2])).claim()\nexcept Exception as e:\n    print(e); sys.exit(e.exit_code)"
    )
    other = subprocess.run(
        [sys.executable, "-c", script, str(ROOT), str(run.path)], capture_output=True, text=True, check=False
    )
    assert other.returncode == 1
    assert "another process is running in it" in other.stdout
    run.release()
    with pytest.raises(RecordError, match="already holds a run"):
        RunDir(run.path).create({"b": 2})
    assert run.raw_config() == {"a": 1}


@pytest.mark.parametrize(
    "text",
    ["!!python/object/apply:os.system ['touch pwned']", "- a\n- b", "a: [", "a: &x [*x]\n" * 2, "\x00"],
    ids=["tag", "list", "broken", "anchors", "nul"],
)
def test_a_hostile_config_executes_nothing(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = RunDir(tmp_path / "run")
    run.path.mkdir()
    run.config_path.write_text(text)
    with pytest.raises(RunnerError):
        run.experiment()
    assert not (tmp_path / "pwned").exists()


def test_another_format_is_refused_with_the_version_that_wrote_it(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    value = {"format": FORMAT + 1, "runner": "9.9", "rows": {}, "harness": {}}
    (tmp_path / "instrument.json").write_text(json.dumps(value))
    with pytest.raises(RecordError, match=rf"format {FORMAT + 1}.*reads format {FORMAT}.*9\.9"):
        run.instrument()
    (tmp_path / "instrument.json").write_text("[]")
    with pytest.raises(RecordError, match="damaged"):
        run.instrument()
    (tmp_path / "instrument.json").unlink()
    with pytest.raises(RecordError, match="never started"):
        run.instrument()


def test_not_a_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a run directory"):
        RunDir(tmp_path).raw_config()


def test_jobs_come_in_number_order(tmp_path: Path) -> None:
    for name in ("10-x", "2-y", "0-z"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.yaml").write_text("a: 1")
    assert [run.path.name for run in runs_under(tmp_path)] == ["0-z", "2-y", "10-x"]


def test_derived_files_are_replaced_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunDir(tmp_path)
    run.write_json("summary.json", {"old": True})

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RecordError, match="No space left"):
        run.write_json("summary.json", {"new": True})
    assert run.read_json("summary.json") == {"old": True}
    assert list(tmp_path.iterdir()) == [tmp_path / "summary.json"]


def test_no_secret_reaches_a_json_file(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    run.write_json("summary.json", {"reason": "key sk-abcdefghijklmnopqrstuvwx was refused"})
    assert "abcdefghijklmnop" not in (tmp_path / "summary.json").read_text()


@pytest.mark.parametrize("name", JOURNALS)
def test_every_journal_is_repaired(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b'{"whole": 1}\n{"torn')
    assert RunDir(tmp_path).repair() == 6
    assert (tmp_path / name).read_bytes() == b'{"whole": 1}\n'


def test_a_part_of_provenance_of_another_type_counts_as_not_recorded(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    entry = {"against": "0-a", "against_run_id": 7, "metric": "recall@10", "units": 3}
    source = {"run": "0-a", "answers": "ab", "judge": "?"}
    value = {
        "run_id": ["x"],
        "system": "?",
        "write_side": "12",
        "source": source,
        "watched": [None, entry, {"not": "x"}],
    }
    run.write_json("provenance.json", value)
    recorded = run.provenance()
    assert (recorded.run_id, recorded.system, recorded.write_side) == (None, {}, "12")
    assert recorded.source is not None
    assert (recorded.source.run, recorded.source.answers, recorded.source.judge) == ("0-a", "ab", None)
    first, second = recorded.watched
    assert (first.against, first.against_run_id, first.units, first.why_not) == ("0-a", None, 3, None)
    assert second.why_not == "x"
    for part in ({"source": {}}, {"source": "x"}, {"watched": 7}, {}):
        run.write_json("provenance.json", part)
        assert (run.provenance().source, run.provenance().watched) == (None, [])
