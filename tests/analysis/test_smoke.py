"""The smoke test: the boundary passes, 0 over 0 does not, an error fails it, a fake is never a pass; offline too."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from runner.analysis.smoke import Check, Smoke, exit_code_of_sweep, reached, smoke_of
from runner.cli.report import main as report
from runner.cli.resume import main as resume
from runner.record.rundir import RunDir
from runner.types import Row
from tests.conftest import runs_in
from tests.support.recorded import arm_config, write_run

Cli = Callable[..., CompletedProcess[str]]
Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("value", "threshold", "says"),
    [
        (0.8, 0.8, True),
        (11 / 15, 11 / 15, True),
        (round(11 / 15, 12), 11 / 15, True),
        (0.1 + 0.2, 0.3, True),
        (0.3, 0.1 + 0.2, True),
        (0.7999, 0.8, False),
        (0.0, 0.0, True),
        (None, 0.0, False),
    ],
)
def test_the_boundary_passes_and_nothing_measured_does_not(value, threshold, says):
    assert reached(value, threshold) is says


def check(value: float | None, threshold: float = 0.5) -> Check:
    return Check("recall@5", value, threshold, 0 if value is None else 15)


@pytest.mark.parametrize(
    ("smoke", "outcome", "code"),
    [
        (Smoke((check(0.5), check(0.9))), "pass", 0),
        (Smoke((check(0.5), check(0.4))), "fail", 3),
        (Smoke((check(None, 0.0),)), "fail", 3),
        (Smoke((check(0.9),), errors=1), "fail", 3),
        (Smoke((check(0.9),), errors=1, left=3), "fail", 3),
        (Smoke((check(0.9),), left=3), "incomplete", 1),
        (Smoke((check(0.9),), fakes=("embedder x",)), "refused", 5),
        (Smoke((check(0.1),), errors=1, fakes=("embedder x",)), "refused", 5),
    ],
)
def test_outcomes(smoke, outcome, code):
    assert (smoke.outcome, smoke.exit_code) == (outcome, code)
    assert smoke.to_dict()["outcome"] == outcome


def test_a_failed_job_decides_the_exit_code_of_a_sweep():
    good, bad, fake = Smoke((check(1),)), Smoke((check(0),)), Smoke((check(1),), fakes=("embedder x",))
    assert exit_code_of_sweep(0, [None, good]) == 0
    assert exit_code_of_sweep(4, [good, None]) == 4
    assert exit_code_of_sweep(4, [good, bad]) == 3
    assert exit_code_of_sweep(1, [bad, fake]) == 3
    assert exit_code_of_sweep(0, [good, fake]) == 5
    assert exit_code_of_sweep(4, [fake]) == 4
    assert exit_code_of_sweep(0, []) == 0


def recorded(folder: Path, rows: list[Row], *, questions: int | None = None, fakes=()) -> RunDir:
    path = write_run(folder / "run", rows, arm=arm_config("a"), axis="recall", fakes=fakes, questions=questions)
    instrument = json.loads((path / "instrument.json").read_text())
    instrument["harness"]["thresholds"] = {"recall@5": 0.5, "mrr": 0.25}
    (path / "instrument.json").write_text(json.dumps(instrument))
    return RunDir(path)


def row(number: int, recall: float | None, *, category: str = "1", **more) -> Row:
    metrics = {"recall@5": recall, "mrr": recall}
    return Row(id=f"q{number}", scenario="s", cluster="s", category=category, metrics=metrics, **more)


def test_a_record_against_its_thresholds(tmp_path: Path):
    # Of category 1, which alone is comparable: 1, 0 and one that is not measurable; a retried row counts once.
    rows = [row(1, 0), row(1, 1), row(2, 0), row(3, None), row(4, 0, category="5")]
    smoke = smoke_of(recorded(tmp_path, rows, questions=4))
    assert smoke is not None
    assert [(c.metric, c.value, c.n) for c in smoke.checks] == [("recall@5", 0.5, 2), ("mrr", 0.5, 2)]
    assert (smoke.errors, smoke.left, smoke.outcome) == (0, 0, "pass")


def test_errors_of_any_category_and_questions_that_are_missing(tmp_path: Path):
    failed = {"scenario": "s", "cluster": "s", "category": "5", "status": "search_error"}
    rows = [Row(id="q1", error="mended since", **failed), row(1, 1), Row(id="q2", error="down", **failed)]
    smoke = smoke_of(recorded(tmp_path, rows, questions=4))
    assert smoke is not None
    assert (smoke.errors, smoke.left, smoke.outcome) == (1, 2, "fail")
    assert smoke.first == "q2, search_error: down"


def test_no_rows_at_all_is_no_pass(tmp_path: Path):
    smoke = smoke_of(recorded(tmp_path, [], questions=0))
    assert smoke is not None
    assert [(c.value, c.n) for c in smoke.checks] == [(None, 0)] * 2
    assert smoke.outcome == "fail"


def test_a_benchmark_without_thresholds_has_no_smoke_test(tmp_path: Path):
    run = RunDir(write_run(tmp_path / "run", [row(1, 1)], arm=arm_config("a"), axis="recall"))
    assert smoke_of(run) is None


# --- from the command line -----------------------------------------------------------------------------------------


REACHED = "smoke test, recall@5: reached (1, threshold 0.8, n 15)"
MISSED = "smoke test, recall@5: not reached (0, threshold 0.8, n 15)"


@pytest.mark.long
def test_a_run_passes_or_is_fake(cli: Cli):
    done = cli("harness=quality", "+arm=bm25")
    assert done.returncode == 0, done.stderr
    assert REACHED in done.stdout
    assert done.stdout.count("smoke test, ") == 2
    fake = cli("harness=quality", "+arm=dense", "arm.settings.embedder.provider=fake")
    assert fake.returncode == 5, fake.stderr
    assert "smoke test refused: fake provider (embedder fake" in fake.stdout


@pytest.mark.long
def test_a_sweep_with_a_job_that_fails_says_so_again_offline(cli: Cli, tmp_path: Path, capsys: Capture):
    done = cli("-m", "harness=quality", "+arm=no_memory,bm25")
    assert done.returncode == 3, done.stderr
    assert MISSED in done.stdout
    assert REACHED in done.stdout
    assert "smoke test failed in 1 of 2 jobs: exit 3, whatever the gate says" in done.stdout
    failed, passed = runs_in(tmp_path)
    for verb in (resume, report):
        for path, code, line in ((failed, 3, MISSED), (passed, 0, REACHED)):
            assert verb([str(path)]) == code
            assert line in capsys.readouterr().out
        assert verb([str(failed.parent)]) == 3
    capsys.readouterr()
    assert report([str(passed), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)[passed.name]["smoke"]
    assert [item["reached"] for item in told["thresholds"]] == [True, True]
