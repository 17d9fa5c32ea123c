"""``run.stop_when_decided``: arms of a sweep that end when the e-value against the baseline decides."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from scipy.special import beta

from runner.cli import main
from runner.config import GateConfig, load
from runner.early_stop.baseline import baseline_of
from runner.early_stop.watch import begin_watch, contradictions, watch_against
from runner.gate import Comparison, compare
from runner.gate.sweep import gate
from runner.record.rundir import RunDir
from runner.record.sweepdir import PlannedJob, write_plan
from runner.types import Row
from tests.support.commands import CommandLine, command_environment
from tests.support.recorded import answered, arm_config, failed, write_run
from tests.support.servers import Stub

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
SMALL = ("harness.settings.scenarios=60", "hydra.sweep.dir=sweep")
WATCHED = "run.stop_when_decided=true"


def e_value(wins: int, losses: int) -> float:
    return float(2.0 ** (wins + losses) * beta(wins + 0.5, losses + 0.5) / beta(0.5, 0.5))


def summary(run: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((run / "summary.json").read_text())
    return value


def rows_of(run: Path) -> int:
    return len((run / "rows.jsonl").read_text().splitlines())


# --- a real sweep ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def decided(
    tmp_path_factory: pytest.TempPathFactory, command_line: CommandLine
) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """Nothing against BM25 over 60 scenarios: recall 0 against about .65, decided after seven of them."""
    folder = tmp_path_factory.mktemp("decided")
    done = command_line.run("-m", "+arm=no_memory,bm25", WATCHED, *SMALL, cwd=folder)
    return folder / "sweep", done


def test_a_plainly_better_arm_stops_early_and_passes(decided) -> None:
    sweep, done = decided
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert rows_of(sweep / "0-no_memory") == 240
    assert 24 <= rows_of(sweep / "1-bm25") < 120
    found = summary(sweep / "1-bm25")
    assert found["state"] == "decided"
    numbers = found["decided"]
    assert (numbers["wins"], numbers["losses"], numbers["units"]) == (7, 0, 7)
    assert numbers["e_value"] == pytest.approx(e_value(7, 0))
    assert numbers["of"] == 206
    assert summary(sweep / "0-no_memory")["state"] == "complete"


def test_it_is_said_before_during_and_after(decided) -> None:
    sweep, done = decided
    assert "no_memory: not watched: it is the baseline" in done.stderr
    assert "bm25: watched against 0-no_memory by recall@5" in done.stderr
    assert "decided early against 0-no_memory: 7 scenarios won, 0 lost, e-value 26.8 (20 decides)" in done.stdout
    assert "python -m runner resume sweep/1-bm25 --to-the-end" in done.stdout
    assert "PASS by e-value" in done.stdout
    assert "decided early by e-value: 7 scenarios won, 0 lost" in done.stdout
    assert "biased away from 0" in done.stdout
    assert "order in which they finished" in done.stdout
    provenance = json.loads((sweep / "1-bm25" / "provenance.json").read_text())["watched"][0]
    assert (provenance["against"], provenance["metric"], provenance["unit"]) == ("0-no_memory", "recall@5", "scenario")
    assert provenance["alpha"] == 0.05
    assert provenance["null"] == "each scenario is as likely to be won as lost"
    told = json.loads((sweep / "gate.json").read_text())["groups"][0]
    assert [arm["state"] for arm in told["arms"]] == ["complete", "decided"]
    pair = told["comparisons"][0]
    assert (pair["outcome"], pair["reason"]) == ("pass", "decided early by e-value")
    assert (pair["early"]["wins"], pair["early"]["n"]) == (7, summary(sweep / "1-bm25")["decided"]["n"])
    assert pair["verdict"]["percentile"] is not None  # the usual interval, beside it


def test_the_record_is_told_again_and_costs_nothing(decided, tmp_path: Path, capsys) -> None:
    sweep = tmp_path / "sweep"
    shutil.copytree(decided[0], sweep)
    before = rows_of(sweep / "1-bm25")
    assert main(["resume", str(sweep / "1-bm25")]) == 0
    out = capsys.readouterr().out
    assert "nothing to do" in out
    assert "--to-the-end" in out
    assert main(["resume", str(sweep)]) == 0
    assert rows_of(sweep / "1-bm25") == before
    capsys.readouterr()
    assert main(["report", str(sweep / "1-bm25")]) == 0
    out = capsys.readouterr().out
    assert "watched against 0-no_memory by recall@5, over 60 scenarios" in out
    assert "questions were not asked" in out


def test_to_the_end_finishes_it_and_the_decision_stands(decided, tmp_path: Path, capsys) -> None:
    sweep = tmp_path / "sweep"
    shutil.copytree(decided[0], sweep)
    assert main(["resume", str(sweep), "--to-the-end"]) == 0
    out = capsys.readouterr()
    assert "bm25: not watched: it is to run to its end" in out.err
    assert rows_of(sweep / "1-bm25") == 240
    assert summary(sweep / "1-bm25")["state"] == "complete"
    assert "decided by e-value, and finished all the same: 7 scenarios won" in out.out
    pair = json.loads((sweep / "gate.json").read_text())["groups"][0]["comparisons"][0]
    assert pair["verdict"]["n"] == 206
    assert pair["outcome"] == "pass"
    assert len(json.loads((sweep / "1-bm25" / "provenance.json").read_text())["watched"]) == 2


def test_a_summary_that_claims_a_decision_is_not_believed(decided, tmp_path: Path, capsys) -> None:
    sweep = tmp_path / "sweep"
    shutil.copytree(decided[0], sweep)
    run = sweep / "1-bm25"
    lines = (run / "rows.jsonl").read_text().splitlines(keepends=True)
    (run / "rows.jsonl").write_text("".join(lines[:12]))  # three scenarios
    value = summary(run) | {"rows_bytes": len("".join(lines[:12]).encode()), "rows": 12}
    (run / "summary.json").write_text(json.dumps(value))
    assert main(["gate", str(sweep)]) == 1
    out = capsys.readouterr().out
    assert "INCOMPLETE" in out
    assert "watched, and not decided: " in out
    # And one that says nothing is not missed: the journals decide.
    (run / "rows.jsonl").write_text("".join(lines))
    (run / "summary.json").unlink()
    assert main(["gate", str(sweep)]) == 0


def test_a_kill_at_the_decision_is_made_good_without_a_question(decided, tmp_path: Path) -> None:
    sweep = tmp_path / "sweep"
    shutil.copytree(decided[0], sweep)
    (sweep / "1-bm25" / "summary.json").unlink()
    before = rows_of(sweep / "1-bm25")
    assert main(["resume", str(sweep)]) == 0
    assert rows_of(sweep / "1-bm25") == before
    assert summary(sweep / "1-bm25")["state"] == "decided"


@pytest.mark.long
def test_an_a_a_sweep_never_stops(cli: Cli, tmp_path: Path) -> None:
    done = cli(
        "-m", "run.replicate=0,1", "+arm=oracle", WATCHED, "harness.settings.scenarios=12", "hydra.sweep.dir=sweep"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert {rows_of(run) for run in (tmp_path / "sweep").glob("*-oracle")} == {48}
    assert "not watched: the same configuration twice measures noise, and is never stopped" in done.stderr
    assert "A/A: no verdict" in done.stdout


def test_an_arm_is_stopped_only_where_the_gate_would_give_a_verdict(tmp_path: Path) -> None:
    """Not while every retrieval is the baseline's (vacuous), nor while too many questions failed."""
    base = [answered(i, False, cluster=i, keys="a") for i in range(12)]
    path = write_run(tmp_path / "0-a", base, arm=arm_config("a"))
    instrument = RunDir(path).instrument()

    def stopped_after(rows: list[Row]) -> int | None:
        watch, _ = watch_against(RunDir(path), GateConfig(), instrument)
        return next((n for n, row in enumerate(rows, 1) if watch.add(row)), None)

    assert stopped_after([answered(i, True, cluster=i, keys="b") for i in range(12)]) == 7
    assert stopped_after([answered(i, True, cluster=i, keys="a") for i in range(12)]) is None
    assert stopped_after([answered(i, True, cluster=i, keys="a" if i < 9 else "b") for i in range(12)]) == 10
    failed = [answered(i, False, cluster=i, status="judge_error", label="", labels=("judge_error",)) for i in range(1)]
    assert stopped_after(failed + [answered(i, True, cluster=i, keys="b") for i in range(1, 12)]) is None  # 1 of 12
    strange = [answered(99, True, cluster=99, keys="b")]  # no question of the baseline
    assert stopped_after(strange + [answered(i, False, cluster=i, keys="b") for i in range(12)]) is None


@pytest.mark.long
def test_an_interrupted_arm_stays_incomplete_and_is_watched_on(cli: Cli, tmp_path: Path, capsys) -> None:
    """Killed in its second arm; resumed, it takes up the journal, decides where it would have, and stops."""
    with Stub(latency_s=0.03) as stub:
        env = {"OPENAI_BASE_URL": stub.url, "OPENAI_API_KEY": "unused"}
        words = ("-m", "+arm=no_memory,oracle", "reader=gpt-4.1-mini", "judge=gpt-4.1", "run.concurrency=2")
        words += ("run.scenarios_in_flight=1", WATCHED, "harness.settings.scenarios=8", "hydra.sweep.dir=sweep")
        child = subprocess.Popen(
            [sys.executable, "-m", "runner", *words],
            cwd=tmp_path, env=command_environment(**env), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        rows = tmp_path / "sweep" / "1-oracle" / "rows.jsonl"
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (rows.exists() and rows.read_text().count("\n") >= 6):
            time.sleep(0.02)
        child.send_signal(signal.SIGKILL)
        child.wait(60)
        assert rows_of(rows.parent) < 32
        assert main(["gate", str(tmp_path / "sweep")]) == 1
        assert "INCOMPLETE" in capsys.readouterr().out
        done = cli("resume", "sweep", **env)
    assert done.returncode in (0, 3, 4, 5), done.stdout + done.stderr
    assert "oracle: watched against 0-no_memory by accuracy_abstain_wrong" in done.stderr


# --- refused or warned before anything is spent ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("+arm=bm25",), "a single run has no baseline to be decided against"),
        (("-m", "+arm=no_memory,bm25", "gate.min_delta=-2"), "the e-value tests a difference of 0"),
        (("-m", "+arm=no_memory,bm25", "gate=non_inferior"), "the e-value tests a difference of 0"),
        (("-m", "+arm=no_memory,bm25", "gate=percentile"), "which may be looked at once, at the end"),
        (("-m", "+arm=no_memory,bm25", "gate.enabled=false"), "there is no gate to decide anything"),
    ],
)
def test_plan_refuses_settings_that_do_not_go_together(words: tuple[str, ...], said: str, capsys) -> None:
    assert main(["plan", *words, WATCHED]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("words", [("+arm=bm25",), ("-m", "+arm=no_memory,bm25", "gate=non_inferior")])
def test_a_run_refuses_them_before_anything_is_spent(words: tuple[str, ...], cli: Cli, tmp_path: Path) -> None:
    done = cli(*words, WATCHED)
    assert done.returncode == 2, done.stdout
    assert "run.stop_when_decided" in done.stderr
    assert not list(tmp_path.rglob("rows.jsonl"))


@pytest.mark.long
def test_too_few_clusters_are_warned_of(cli: Cli, capsys) -> None:
    words = ("-m", "+arm=no_memory,oracle", WATCHED, "harness.settings.scenarios=6")
    assert main(["plan", *words]) == 0
    said = "6 scenarios can never decide early (it takes 7 that all go one way)"
    assert said in capsys.readouterr().out
    done = cli(*words)
    assert f"warning: run.stop_when_decided: {said}" in done.stderr.splitlines()[0]


# --- which run is the baseline --------------------------------------------------------------------------------------


def recorded(folder: Path, names: str, **config: Any) -> None:
    base = [answered(i, False, keys="a") for i in range(80)]
    for number, name in enumerate(names):
        if name != "-":
            write_run(folder / f"{number}-{name}", base, arm=arm_config(name), config=config)
    write_plan(folder, [PlannedJob(n, [f"+arm={name}"]) for n, name in enumerate(names)], [], folder / "cache")


def against(folder: Path, name: str) -> str:
    run = next(folder.glob(f"*-{name}"))
    found = baseline_of(RunDir(run), RunDir(run).experiment())
    return found if isinstance(found, str) else found.path.name


def test_the_baseline_is_the_gates(tmp_path: Path) -> None:
    recorded(tmp_path / "one", "abc")
    assert against(tmp_path / "one", "c") == "0-a"
    assert "it is the baseline" in against(tmp_path / "one", "a")
    recorded(tmp_path / "named", "abc", gate={"name": "default", "baseline": "b"})
    assert against(tmp_path / "named", "c") == "1-b"
    assert against(tmp_path / "named", "a") == "1-b"
    assert against(tmp_path / "named", "b") == "it is the baseline"
    recorded(tmp_path / "later", "ab", gate={"name": "default", "baseline": "z"})
    assert "gate.baseline=z has not run yet" in against(tmp_path / "later", "b")
    recorded(tmp_path / "hole", "-bc")
    assert "job 0 of the sweep has no run" in against(tmp_path / "hole", "c")
    write_run(tmp_path / "alone" / "0-a", [answered(0, True)], arm=arm_config("a"))
    assert "no arm of a sweep" in against(tmp_path / "alone", "a")


def test_arms_of_another_setting_are_no_baseline(tmp_path: Path) -> None:
    recorded(tmp_path, "a")
    other = {"judge": {"name": "j", "provider": "fake"}, "reader": {"name": "r", "provider": "fake"}}
    write_run(tmp_path / "1-b", [answered(0, True)], arm=arm_config("b"), config=other)
    assert "the first arm with its settings" in against(tmp_path, "b")


def test_watching_begins_only_where_the_gate_would_compare(tmp_path: Path) -> None:
    recorded(tmp_path, "ab")
    run = RunDir(tmp_path / "1-b")
    instrument = run.instrument()

    def said(**changes: Any) -> str:
        found = begin_watch(run, run.experiment(), replace(instrument, **changes))
        return found if isinstance(found, str) else found.note

    assert said().startswith("watched against 0-a by accuracy_abstain_wrong")
    assert "over conversations reaches 20" in said()
    assert "not comparable with 0-a: judge.model" in said(rows={**instrument.rows, "judge.model": "another"})
    assert "judge x is a fake" in said(fakes=["judge x"])
    pairs = replace(instrument.harness, headline="group_answer_sufficiency_f1")
    assert "is a score of two questions, which no single row tells" in said(harness=pairs)
    rows = (tmp_path / "0-a" / "rows.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "0-a" / "rows.jsonl").write_text("".join(rows[:70]))
    assert "the baseline 0-a is not finished: 10 questions are missing" in said()
    (tmp_path / "0-a" / "rows.jsonl").write_text("nonsense\n")
    assert "the baseline 0-a cannot be read" in said()


def test_contradictions_of_a_config() -> None:
    none = {"name": "none", "provider": "none"}
    plain = {"harness": {"name": "synthetic_memory"}, "arm": arm_config("a"), "reader": none, "judge": none}
    assert contradictions(load({**plain, "gate": {"min_delta": 1}})) == []
    config = {**plain, "run": {"stop_when_decided": True}, "gate": {"min_delta": 1, "interval": "percentile"}}
    assert len(contradictions(load(config))) == 2


# --- the gate, over journals written by hand ------------------------------------------------------------------------


def pair(
    tmp_path: Path,
    clusters: list[int],
    *,
    of: int = 20,
    baseline: bool = False,
    watched: dict[str, Any] | None = None,
    config: dict[str, Any] | None = None,
    settings: GateConfig | None = None,
    change: Callable[[list[Row]], list[Row]] = lambda rows: rows,
    **more: Any,
) -> Comparison:
    """B against A over ``of`` clusters of ten; B finished some, in this order: won (1), tied, or lost by a question."""
    whole = [answered(i, baseline or i % 10 < 5, keys="a") for i in range(10 * of)]
    rows = []
    for c, sign in enumerate(clusters):
        for i in range(10 * c, 10 * c + 10):
            good = baseline or i % 10 < 5
            good = True if sign > 0 and i % 10 == 9 else False if sign < 0 and i % 10 == 0 else good
            rows.append(answered(i, good, keys="b"))
    one = write_run(tmp_path / "0-a", whole, arm=arm_config("a"))
    flagged = {"run": {"repeats": 1, "stop_when_decided": True}, **(config or {})}
    two = write_run(
        tmp_path / "1-b", change(rows), arm=arm_config("b"), config=flagged, questions=10 * of, slice_of=whole, **more
    )
    (one / "provenance.json").write_text(json.dumps({"run_id": "base"}))
    entry = {"against": "0-a", "against_run_id": "base", "metric": "accuracy_abstain_wrong", **(watched or {})}
    (two / "provenance.json").write_text(json.dumps({"run_id": "arm", "watched": [entry]}))
    return compare(one, two, settings or GateConfig())


def test_seven_wins_pass_and_seven_losses_fail(tmp_path: Path) -> None:
    found = pair(tmp_path / "won", [1] * 7)
    assert (found.outcome, found.reason) == ("pass", "decided early by e-value")
    assert found.early is not None
    assert (found.early.wins, found.early.losses, found.early.n, found.early.of) == (7, 0, 70, 200)
    assert found.early.e_value == pytest.approx(e_value(7, 0))
    assert found.early_p == pytest.approx(1 / e_value(7, 0))
    assert found.verdict is not None
    assert (found.verdict.n, found.verdict.wins) == (70, 7)
    assert "1-b against 0-a" in str(found) or "b against a" in str(found)
    assert "7 won, 0 lost" in str(found)
    lost = pair(tmp_path / "lost", [-1] * 7)
    assert (lost.outcome, lost.reason) == ("fail", "decided early by e-value")
    assert gate([tmp_path / "lost" / "0-a", tmp_path / "lost" / "1-b"]).exit_code == 3
    assert gate([tmp_path / "won" / "0-a", tmp_path / "won" / "1-b"]).exit_code == 0


def test_six_wins_and_ties_are_not_enough(tmp_path: Path) -> None:
    found = pair(tmp_path, [1, 0, 1, 0, 1, 1, 1, 0, 1, 0])
    assert found.outcome == "incomplete"
    assert any("watched, and not decided: 6 conversations won, 0 lost, 4 tied, e-value 14.4" in n for n in found.notes)


def test_the_moment_stays_what_it_was(tmp_path: Path) -> None:
    """Seven wins decide; what was in flight then, and lost, is recorded and changes nothing."""
    found = pair(tmp_path, [1] * 7 + [-1] * 3)
    assert found.outcome == "pass"
    assert found.early is not None
    assert (found.early.wins, found.early.losses) == (7, 0)
    assert found.verdict is not None
    assert (found.verdict.wins, found.verdict.losses, found.verdict.n) == (7, 3, 100)
    assert found.verdict.verdict == "unresolved"
    assert any("does not decide: unresolved" in note for note in found.notes)


def test_the_order_of_the_journal_counts(tmp_path: Path) -> None:
    """The same rows with a loss among the first seven: 7 wins and 1 loss are e-value 3.6, and nothing is decided."""
    assert e_value(7, 1) < 20
    found = pair(tmp_path, [1, 1, -1, 1, 1, 1, 1, 1])
    assert found.outcome == "incomplete"


def test_an_unfinished_cluster_is_no_unit(tmp_path: Path) -> None:
    found = pair(tmp_path, [1] * 7, change=lambda rows: rows[:-1])
    assert found.outcome == "incomplete"
    assert any("6 conversations won" in note for note in found.notes)


def test_failed_questions_never_count(tmp_path: Path) -> None:
    def fail(rows: list[Row]) -> list[Row]:
        rows[9] = failed(rows[9], "judge_error")  # the only question that decides the first cluster
        return rows

    assert pair(tmp_path / "seven", [1] * 7, change=fail).outcome == "incomplete"
    found = pair(tmp_path / "eight", [1] * 8, change=fail)
    assert found.early is not None
    assert (found.early.wins, found.early.ties, found.early.n) == (7, 1, 79)
    assert found.errors == (0, 1)


def test_what_forbids_a_verdict_forbids_this_one(tmp_path: Path) -> None:
    assert pair(tmp_path / "fake", [1] * 7, fakes=["judge x"]).outcome == "refused"

    def same(rows: list[Row]) -> list[Row]:
        return [replace(row, keys="a") for row in rows]

    vacuous = pair(tmp_path / "vacuous", [1] * 7, change=same)
    assert vacuous.outcome == "refused"
    assert "vacuous" in vacuous.reason

    def failing(rows: list[Row]) -> list[Row]:
        rows[:70:10] = map(failed, rows[:70:10])
        return rows

    errors = pair(tmp_path / "errors", [1] * 7, change=failing)
    assert errors.outcome == "refused"
    assert "7 of 70 questions failed" in errors.reason


@pytest.mark.parametrize(
    "changes",
    [
        {"settings": GateConfig(min_delta=1)},
        {"settings": GateConfig(interval="percentile")},
        {"settings": GateConfig(categories="all")},
        {"watched": {"against_run_id": "another"}},
        {"watched": {"metric": "token_f1"}},
        {"watched": {"against_run_id": None}},
        {"config": {"run": {"repeats": 1}}},
    ],
    ids=["min_delta", "percentile", "categories", "baseline", "metric", "not watched", "not flagged"],
)
def test_another_question_than_the_one_watched_is_not_decided(tmp_path: Path, changes: dict[str, Any]) -> None:
    found = pair(tmp_path, [1] * 7, **changes)
    assert found.outcome == "incomplete"
    assert found.early is None


def test_an_unfinished_baseline_decides_nothing(tmp_path: Path) -> None:
    pair(tmp_path, [1] * 7)
    rows = (tmp_path / "0-a" / "rows.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "0-a" / "rows.jsonl").write_text("".join(rows[:150]))
    assert compare(tmp_path / "0-a", tmp_path / "1-b", GateConfig()).outcome == "incomplete"


def test_a_watched_arm_that_never_decided_is_judged_at_its_end(tmp_path: Path) -> None:
    found = pair(tmp_path, [1] * 5 + [0] * 15)
    assert found.early is None
    assert found.outcome == found.verdict.verdict
    assert any("watched while it ran and never decided" in note for note in found.notes)


def test_holm_takes_the_anytime_p_of_an_arm_that_stopped(tmp_path: Path) -> None:
    pair(tmp_path, [1] * 7)
    whole = [answered(i, i % 10 < 5, keys="a") for i in range(200)]
    other = [answered(i, i % 10 < 5 or i % 10 == 9, keys="c") for i in range(200)]
    three = write_run(tmp_path / "2-c", other, arm=arm_config("c", knobs={"other": True}), slice_of=whole)
    (three / "provenance.json").write_text("{}")
    found = gate([tmp_path / "0-a", tmp_path / "1-b", tmp_path / "2-c"])
    stopped, whole_arm = found.groups[0].comparisons
    assert stopped.outcome == whole_arm.outcome == "pass"
    # c: twenty clusters of one sign, sign-flip p 2 / 2^20; b: 1 / 26.8 = .0373, the greater of the two, so times 1.
    assert stopped.holm_p == pytest.approx(1 / e_value(7, 0))
    assert whole_arm.holm_p == pytest.approx(2 * 2 / 2**20)


def test_a_damaged_record_of_the_watch_is_no_crash(tmp_path: Path) -> None:
    pair(tmp_path, [1] * 7)
    for value in ({"watched": 7}, {"watched": [None, {"metric": 3}]}, {"watched": [{"not": ["x"]}]}):
        (tmp_path / "1-b" / "provenance.json").write_text(json.dumps(value))
        assert compare(tmp_path / "0-a", tmp_path / "1-b", GateConfig()).outcome == "incomplete"
