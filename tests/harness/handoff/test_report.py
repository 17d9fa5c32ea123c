"""The report of the handoff suite over rows written by hand; every figure is worked out here."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from runner.harness.handoff.figures import figures
from runner.record.rundir import RunDir
from runner.report.section import figures_of, sections
from runner.types import NO_SOURCE_OF_TRUTH, Fact, Gold, Row, Texts
from tests.support.recorded import answered, arm_config, write_run

# scenario: family, skill, expected
SCENARIOS = {
    "alpha": ("continuity", "failed_approaches", "pass"),
    "beta": ("continuity", "stale_context", "fail"),
    "gamma": ("memory", "direct_recall", "pass"),
    "delta": ("durability", "notes_survive", "fail"),
}


def row(scenario: str, variant: str, passed: bool, *, error: str = "", flags: tuple[str, ...] = (), **metrics) -> Row:
    """Variants: 0, 1, 2 are wordings; d1 is a history with distractors."""
    family, skill, expect = SCENARIOS[scenario]
    distractors = variant[1:] if variant.startswith("d") else "0"
    wording = "0" if variant.startswith("d") else variant
    name = f"{scenario}+{variant}" if variant.startswith("d") else scenario
    values = {"pass": float(passed), "fidelity": float(passed), "tokens": 100.0, "over_budget": 0.0, **metrics}
    return Row(
        id=f"{name}/{wording}",
        scenario=name,
        cluster=scenario,
        category="v",
        status="search_error" if error else "ok",
        error=error,
        metrics={} if error else values,
        flags=flags,
        tags={
            "family": family,
            "skill": skill,
            "expect": expect,
            "scenario": scenario,
            "wording": wording,
            "distractors": distractors,
            "budget": "50",
        },
    )


ROWS = [
    # as written: one fails against the prediction, one passes against it, one is an error, one lost everything
    row("alpha", "0", False, fidelity=0.5, density=2.0, signal=None, fact_recall=0.5, leakage=None, over_budget=1.0),
    row("beta", "0", True, density=4.0, signal=1.0, fact_recall=1.0, leakage=0.0),
    row("gamma", "0", False, error="500"),
    row("delta", "0", False, density=0.0, tokens=0.0, fact_recall=0.0, flags=(NO_SOURCE_OF_TRUTH,)),
    # variants
    row("alpha", "1", False),
    row("alpha", "d1", False),
    row("beta", "1", True),
    row("beta", "2", False),
    row("gamma", "1", True),
    row("delta", "1", False),
    row("delta", "d1", False),
]


def stored(path: Path, rows: list[Row]) -> RunDir:
    """A run of the suite; its arm is named by the last letter of its folder."""
    about = {"name": "handoff"}
    return RunDir(write_run(path, rows, arm=arm_config(path.name[-1]), axis="recall", about=about))


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    return stored(tmp_path / "0-a", ROWS)


def printed(runs: list[RunDir]) -> str:
    (group,) = sections(runs)
    console = Console(width=200, color_system=None, markup=False, highlight=False)
    with console.capture() as capture:
        console.print(group)
    return capture.get()


def test_rates_are_over_what_is_no_error_and_stand_beside_those_with_errors_as_0(run: RunDir):
    found = figures(run)
    assert found is not None
    overall = found["overall"]
    assert (overall["n"], overall["errors"], overall["passed"]) == (4, 1, 1)
    assert overall["fidelity"] == pytest.approx((0.5 + 1 + 0) / 3)
    assert overall["fidelity_errors_zero"] == pytest.approx(1.5 / 4)
    assert overall["pass"] == pytest.approx(1 / 3)
    assert overall["pass_errors_zero"] == 0.25
    assert overall["density"] == 2.0  # (2 + 4 + 0) / 3
    assert overall["signal"] == 1.0  # declared once
    assert overall["leakage"] == 0.0
    assert overall["fact_recall"] == 0.5
    assert overall["tokens"] == pytest.approx(200 / 3)
    assert (overall["over_budget"], overall["no_source_of_truth"]) == (1, 1)
    assert found["families"]["continuity"]["pass"] == 0.5
    assert found["families"]["memory"]["pass"] is None
    assert found["families"]["memory"]["pass_errors_zero"] == 0.0
    assert found["families"]["durability"]["fidelity"] == 0.0
    assert sorted(found["skills"]) == ["direct_recall", "failed_approaches", "notes_survive", "stale_context"]


def test_consistent_is_over_scenarios_without_an_error(run: RunDir):
    """alpha and delta fail throughout, beta differs, gamma has an error."""
    found = figures(run)
    assert found is not None
    assert found["consistent"] == {"scenarios": 3, "same": 2, "share": pytest.approx(2 / 3)}


def test_composition(run: RunDir):
    found = figures(run)
    assert found is not None
    made = found["composition"]
    assert (made["scenarios"], made["expected_to_fail"]) == (4, 2)
    assert made["families"] == {
        "continuity": {"scenarios": 2, "expected_to_fail": 1},
        "durability": {"scenarios": 1, "expected_to_fail": 1},
        "memory": {"scenarios": 1, "expected_to_fail": 0},
    }


def test_wrong_predictions_leave_errors_out_and_say_what_was_missing(run: RunDir):
    gold = Gold(
        carry=(Fact(label="the valve", any=("valve",)), Fact(label="the far end", any=("far end",))),
        avoid=(Fact(label="the old pump", any=("old pump",)),),
        signal=(Fact(label="its age", any=("weeks ago",)),),
    )
    text = Texts(
        id="alpha/0", question="Valve?", gold=gold, context="the VALVE and the old pump" + "." * 250 + "far end"
    )
    (run.path / "texts.jsonl").write_bytes(msgspec.json.encode(text) + b"\n")
    found = figures(run)
    assert found is not None
    assert found["wrong_predictions"] == {
        "expected to fail, passed": [{"scenario": "beta", "skill": "stale_context"}],
        "expected to pass, failed": [
            {
                "scenario": "alpha",
                "skill": "failed_approaches",
                "missed": ("the far end",),  # beyond the 50 tokens of the budget
                "leaked": ("the old pump",),
                "unsignalled": ("its age",),
            }
        ],
    }
    shown = printed([run])
    assert "a: expected to pass, failed (1)" in shown
    assert "alpha (failed_approaches): missed the far end; leaked the old pump; did not say its age" in shown
    assert json.loads(json.dumps(figures_of(run), allow_nan=False))["handoff"]["overall"]["n"] == 4


def test_sections_come_in_their_order(run: RunDir):
    shown = printed([run])
    heads = (
        "composition",
        "as written",
        "pass rate (fidelity) by family",
        "passed by skill",
        "predictions that were wrong",
    )
    order = [f"handoff: {head}" for head in heads]
    places = [shown.index(text) for text in order]
    assert places == sorted(places)
    head = next(line for line in shown.splitlines() if line.startswith("arm "))
    names = ["fidelity", "density", "signal", "pass", "tokens", "over budget", "errors", "consistent", "errors as 0"]
    assert [head.index(name) for name in names] == sorted(head.index(name) for name in names)
    assert "0.500" in shown
    assert "0.375" in shown
    assert "failed_approaches  0/1" in shown
    assert ["memory", "–", "(–)"] in [line.split() for line in shown.splitlines()]


def test_arms_stand_side_by_side(run: RunDir, tmp_path: Path):
    good = [r for r in ROWS if r.status == "ok"]
    other = stored(tmp_path / "1-b", good)
    foreign = RunDir(write_run(tmp_path / "2-c", [answered(n, True) for n in range(3)], arm=arm_config("c")))
    twin = stored(tmp_path / "3-b", good)
    assert figures(foreign) is None
    assert figures_of(foreign) == {}
    assert sections([foreign]) == []
    lines = [line.split() for line in printed([run, other, foreign]).splitlines()]
    assert ["family", "a", "b"] in lines
    assert ["skill", "a", "b"] in lines
    assert "1-b" in printed([run, other, twin])


def test_the_last_row_of_a_question_counts(tmp_path: Path):
    rows = [*ROWS, row("gamma", "0", True)]
    found = figures(stored(tmp_path / "0-a", rows))
    assert found is not None
    assert (found["overall"]["errors"], found["overall"]["passed"]) == (0, 2)


def test_a_damaged_run_does_not_hide_the_others(run: RunDir, tmp_path: Path):
    broken = stored(tmp_path / "1-b", ROWS)
    broken.rows_path.write_bytes(b"{]\n" + broken.rows_path.read_bytes())
    assert "a " in printed([broken, run])


def test_text_of_a_record_is_not_obeyed(tmp_path: Path):
    plain = row("alpha", "0", False)
    hostile = msgspec.structs.replace(plain, tags={**plain.tags, "skill": "[red]x\x1b[2J", "scenario": "al\npha"})
    shown = printed([stored(tmp_path / "0-a", [hostile])])
    assert "\x1b" not in shown
    assert "[red]x" in shown
