"""gate.calibration: the corrected difference beside the raw one, and every calibration that is not this judge's."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from runner.calibration.file import Calibration
from runner.errors import Refused, UsageError
from runner.gate import compare
from runner.gate.sweep import gate
from runner.report.verdict import pair_notes
from tests.support.calibrations import calibration, written
from tests.support.recorded import answered, arm_config, write_run


def arms(folder: Path, *, gains: int = 60, losses: int = 20, total: int = 400, **more: Any) -> tuple[Path, Path]:
    """Two runs: half right in A; B wins ``gains`` and loses ``losses``, spread evenly over 40 clusters."""
    before = [n % 2 == 0 for n in range(total)]
    after = list(before)
    for wins, state in ((gains, False), (losses, True)):
        some = [n for n in range(total) if before[n] is state]
        for n in some[:: max(1, len(some) // wins)][:wins] if wins else []:
            after[n] = not state
    paths = []
    for name, labels in (("a", before), ("b", after)):
        rows = [answered(n, right, cluster=n % 40, keys=f"{name}{n}") for n, right in enumerate(labels)]
        paths.append(write_run(folder / name, rows, arm=arm_config(name), **more))
    return paths[0], paths[1]


def told(folder: Path, made: Calibration, **changes: Any) -> Any:
    a, b = folder / "a", folder / "b"
    if not a.exists():
        arms(folder)
    verdict = gate([a, b], {"calibration": str(written(folder / "cal", made)), **changes})
    return verdict.groups[0].comparisons[0]


def test_by_hand(tmp_path: Path) -> None:
    pair = told(tmp_path, calibration((95, 100), (10, 100), (60, 100)))
    raw = pair.verdict
    assert raw.delta == pytest.approx(0.1)
    found = pair.corrected
    j = 0.85
    assert found.specific.result.mean == pytest.approx(0.1 / j)
    variance = (96 / 102) * (6 / 102) / 100 + (11 / 102) * (91 / 102) / 100
    extra = 1.959963984540054 * 0.1 * math.sqrt(variance) / j**2
    low, high = raw.deciding.low, raw.deciding.high
    assert found.specific.result.low == pytest.approx(0.1 / j - math.hypot((0.1 - low) / j, extra))
    assert found.specific.result.high == pytest.approx(0.1 / j + math.hypot((high - 0.1) / j, extra))
    assert found.vague.result.mean == pytest.approx(0.1 / 0.35)
    assert found.specific.verdict == found.raw == pair.outcome == "pass"
    assert found.categories["1 multi-hop"].result.mean == pytest.approx(pair.categories["1 multi-hop"].delta / j)
    notes = "\n".join(pair_notes(pair))
    assert (
        "corrected for the judge (TPR 0.950 of 100, FPR 0.100 of 100 specific wrong answers, J +0.850): +11.8 pp"
        in notes
    )
    assert "the same if wrong answers are vague (TPR 0.950 of 100, FPR 0.600 of 100" in notes
    assert "category 1 multi-hop corrected" in notes
    assert (
        "the raw verdict decides; a corrected number assumes that the judge errs at the same rates in both arms"
        in notes
    )
    assert "J is likely too high" in notes
    json.dumps(pair.to_dict(), allow_nan=False)
    assert pair.to_dict()["corrected"]["specific"]["rates"]["j"] == pytest.approx(0.85)


def test_the_verdict_and_the_exit_code_stay_those_of_the_raw_difference(tmp_path: Path) -> None:
    """Raw +15 pp fails a threshold of 20; corrected, +30 pass it: both are printed, and the raw one decides."""
    a, b = arms(tmp_path, gains=60, losses=0)
    place = written(tmp_path / "cal", calibration((1000, 1000), (500, 1000), (60, 100)))
    plain = gate([a, b], {"min_delta": 20.0})
    corrected = gate([a, b], {"min_delta": 20.0, "calibration": str(place)})
    assert plain.exit_code == corrected.exit_code == 3
    (pair,) = corrected.groups[0].comparisons
    assert pair.outcome == "fail"
    assert pair.corrected.specific.verdict == "pass"
    notes = "\n".join(pair_notes(pair))
    assert "raw verdict FAIL, corrected PASS; the raw one decides" in notes


@pytest.mark.parametrize(
    ("right", "specific", "flag", "said"),
    [
        ((50, 100), (50, 100), "judge_uninformative", "judge_uninformative, J ≤ 0"),
        ((40, 100), (50, 100), "judge_uninformative", "judge_uninformative, J ≤ 0"),
        ((6, 10), (5, 10), "judge_too_weak", "judge_too_weak"),
    ],
)
def test_a_judge_that_cannot_correct(
    tmp_path: Path, right: tuple[int, int], specific: tuple[int, int], flag: str, said: str
) -> None:
    pair = told(tmp_path, calibration(right, specific, specific))
    assert pair.corrected.specific.result.flag == flag
    if flag == "judge_too_weak":
        assert pair.corrected.specific.result.mean is None
        assert pair.corrected.specific.verdict is None
    else:
        assert pair.corrected.specific.result.mean == pair.verdict.delta
        assert pair.corrected.specific.result.low == pair.verdict.deciding.low
    notes = "\n".join(pair_notes(pair))
    assert said in notes
    assert pair.outcome == "pass"
    json.dumps(pair.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    "row", ["judge.model", "judge.params", "judge.rubric", "dataset.sha256", "dataset.patches", "harness", "repeats"]
)
def test_another_instrument_is_refused_by_name(tmp_path: Path, row: str) -> None:
    made = calibration()
    made.rows[row] = 3 if row == "repeats" else "other"
    with pytest.raises(Refused) as caught:
        told(tmp_path, made)
    said = str(caught.value)
    assert f"made with another {row}: {made.rows[row]!r} there, {1 if row == 'repeats' else 'x'!r} in a" in said
    assert "\n" not in said
    with pytest.raises(Refused):  # what is known on both sides cannot be declared away
        told(tmp_path, made, same=[row])


def test_unknown_never_matches_unless_a_person_says_so(tmp_path: Path) -> None:
    made = calibration()
    made.rows["judge.rubric"] = "unknown"
    with pytest.raises(Refused, match=r"'unknown' there.*--declare judge\.rubric=same"):
        told(tmp_path, made)
    pair = told(tmp_path, made, same=["judge"])
    assert pair.corrected.specific.result.mean is not None
    assert "declared to be the same as in the calibration by a person: judge.rubric (gate.same)" in "\n".join(
        pair_notes(pair)
    )


def test_what_is_not_usable(tmp_path: Path) -> None:
    for made, said in (
        (calibration(state="incomplete", reason="interrupted"), r"incomplete \(interrupted\)"),
        (calibration(state="unusable", reason="too many"), "unusable"),
        (calibration(right=(0, 0)), "no graded known right answer.*--known-right"),
        (calibration(specific=(0, 0)), "no graded known wrong, specific answer"),
    ):
        with pytest.raises(Refused, match=said):
            told(tmp_path, made)
    with pytest.raises(UsageError, match="no such calibration"):
        gate([tmp_path / "a", tmp_path / "b"], {"calibration": str(tmp_path / "nowhere")})
    pair = told(tmp_path, calibration(vague=(0, 0)))
    assert pair.corrected.vague is None
    assert any("no vague wrong answer was graded" in line for line in pair_notes(pair))


def test_it_corrects_labels_and_nothing_else(tmp_path: Path) -> None:
    rows = [answered(n, True, keys=str(n), metrics={"recall@10": n % 2}) for n in range(20)]
    for name in "ab":
        write_run(tmp_path / name, rows, arm=arm_config(name), axis="recall")
    with pytest.raises(UsageError, match=r"recall@10 is not a judge's label"):
        told(tmp_path, calibration())


def test_a_fake_and_a_drifted_judge_are_named(tmp_path: Path) -> None:
    arms(tmp_path)
    for name in "ab":
        rows = (tmp_path / name / "rows.jsonl").read_text().replace('"category"', '"models":["m-2"],"category"')
        (tmp_path / name / "rows.jsonl").write_text(rows)
    pair = told(tmp_path, calibration(fakes=["judge lexical_fake"], served=["m-1"]))
    notes = "\n".join(pair_notes(pair))
    assert "FAKE: the calibration was made with judge lexical_fake" in notes
    assert "drift: the calibration was served by m-1, the arms by m-2" in notes


def test_too_few_clusters_and_a_pair_that_does_not_compare(tmp_path: Path) -> None:
    for name, right in (("a", 0), ("b", 1)):
        rows = [answered(n, n % 3 < right + 1, cluster=n % 3, keys=f"{name}{n}") for n in range(60)]
        write_run(tmp_path / name, rows, arm=arm_config(name))
    pair = told(tmp_path, calibration())
    assert pair.outcome == pair.corrected.specific.verdict == "unresolved"
    write_run(tmp_path / "c", rows, arm=arm_config("c"), instrument={"judge.model": "y"})
    found = gate([tmp_path / "a", tmp_path / "c"], {"calibration": str(tmp_path / "cal")})
    (pair,) = found.groups[0].comparisons
    assert pair.outcome == "refused"  # for what the pair itself lacks
    assert pair.corrected is None


def test_from_python(tmp_path: Path) -> None:
    from runner.config import GateConfig

    a, b = arms(tmp_path)
    place = written(tmp_path / "cal", calibration())
    pair = compare(a, b, GateConfig(calibration=str(place)))
    assert pair.corrected is not None
    assert pair.corrected.specific.result.mean == pytest.approx(0.1 / 0.8)
    assert compare(a, b).corrected is None
