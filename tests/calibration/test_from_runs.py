"""Rates from recorded runs whose answers are known to be wrong, or right."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from runner.calibration.from_runs import from_runs
from runner.errors import RecordError, Refused, UsageError
from runner.types import Gold, Row, Texts
from tests.support.recorded import answered, arm_config, write_run


def run(path: Path, rows: Sequence[Row], **more: Any) -> Path:
    return write_run(path, rows, arm=arm_config("a"), **more)


def labelled(number: int, *labels: str, **more: Any) -> Row:
    status = "ok" if any(label in ("CORRECT", "WRONG", "ABSTAIN") for label in labels) else labels[-1]
    return answered(number, False, labels=labels, label="", status=status, **more)


def test_rates_by_majority_and_over_repeats(tmp_path: Path) -> None:
    wrong = [
        labelled(0, "CORRECT", "CORRECT", "WRONG"),
        labelled(1, "WRONG", "WRONG", "CORRECT"),
        labelled(2, "ABSTAIN", "WRONG", "WRONG"),
        *(labelled(n, "WRONG", "WRONG", "WRONG") for n in range(3, 40)),
        labelled(40, "judge_error", "judge_error", "judge_error"),
        labelled(41, "CORRECT", "CORRECT", "CORRECT", category="5"),
        labelled(42, "CORRECT", "CORRECT", "CORRECT", flags=("gold_excluded",)),
    ]
    made = from_runs({"specific": run(tmp_path / "w", wrong, instrument={"repeats": 3})})
    found = made.kinds["specific"]
    assert (found.probes, found.graded, found.passed, found.errors) == (41, 40, 1, 1)
    assert found.mean_over_repeats == pytest.approx(1 / 40)
    assert [(r.graded, r.passed) for r in found.repeats] == [(40, 1), (40, 1), (40, 1)]
    assert made.state == "complete"
    assert made.repeats == 3
    assert made.youden == {}
    assert made.kinds["right"].probes == 0
    assert made.runs == {"specific": "w"}
    assert sum(made.left_out.values()) == 2
    assert set(made.categories) == {"1"}


def test_all_three_classes_and_what_must_match(tmp_path: Path) -> None:
    right = run(tmp_path / "r", [answered(n, n < 9) for n in range(10)])
    wrong = run(tmp_path / "w", [answered(n, n < 2) for n in range(10)])
    vague = run(tmp_path / "v", [answered(n, n < 6) for n in range(10)], instrument={"judge.model": "unknown"})
    made = from_runs({"right": right, "specific": wrong})
    assert made.youden["specific"].j == pytest.approx(0.7)
    with pytest.raises(Refused, match=r"judge\.model: 'x' against 'unknown'.*--declare judge\.model=same"):
        from_runs({"right": right, "specific": wrong, "vague": vague})
    made = from_runs({"right": right, "specific": wrong, "vague": vague}, ["judge"])
    assert made.rows["judge.model"] == "x"
    assert made.youden["vague"].j == pytest.approx(0.3)
    other = run(tmp_path / "o", [answered(n, n < 6) for n in range(10)], instrument={"judge.model": "y"})
    with pytest.raises(Refused, match="'x' against 'y'"):
        from_runs({"right": right, "specific": other}, ["judge"])


def test_unanswerable_items_are_left_out_where_the_texts_tell(tmp_path: Path) -> None:
    path = run(tmp_path / "w", [answered(n, n < 2) for n in range(10)])
    texts = [Texts(id=f"c0/{n}", question="q", gold=Gold(abstain=n < 2)) for n in range(10)]
    (path / "texts.jsonl").write_bytes(b"".join(msgspec.json.encode(text) + b"\n" for text in texts))
    assert from_runs({"specific": path}).kinds["specific"].passed == 0
    assert from_runs({"specific": path}).kinds["specific"].probes == 8


def test_what_is_no_source(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--known-wrong"):
        from_runs({})
    with pytest.raises(UsageError, match="not a run directory"):
        from_runs({"specific": tmp_path})
    with pytest.raises(UsageError, match="recall axis"):
        from_runs({"specific": run(tmp_path / "a", [answered(0, True)], axis="recall")})
    with pytest.raises(UsageError, match="3 questions are missing"):
        from_runs({"specific": run(tmp_path / "b", [answered(0, True)], questions=4)})
    with pytest.raises(RecordError, match="a label that no judge gives"):
        from_runs({"specific": run(tmp_path / "c", [labelled(0, "CORRECT", "MAYBE")])})
    errors = [labelled(n, "judge_error") for n in range(2)] + [answered(n, False) for n in range(2, 10)]
    made = from_runs({"specific": run(tmp_path / "d", errors)})
    assert made.state == "unusable"
    assert "2 of 10 answers have no label" in made.reason
    fake = from_runs({"specific": run(tmp_path / "e", [answered(0, False)], fakes=["judge lexical_fake", "reader x"])})
    assert fake.fakes == ["judge lexical_fake"]


def test_wrong_answers_of_the_locomo_audit(shared_data: Path, tmp_path: Path) -> None:
    """1,540 answers that are wrong on purpose, each judged three times by a judge in wide use."""
    data = json.loads((shared_data / "locomo_audit" / "ap_v1_scored.json").read_text())
    rows = []
    for name, items in data["detailed_results"].items():
        for item in items:
            judged = tuple("CORRECT" if said else "WRONG" for _, said in sorted(item["llm_judgments"].items()))
            rows.append(
                Row(
                    id=f"{name}/{item['question_id']}",
                    scenario=name,
                    cluster=name,
                    category=item["category"],
                    labels=judged,
                )
            )
    path = run(tmp_path / "w", rows, instrument={"repeats": 3})
    about = json.loads((path / "instrument.json").read_text())
    about["harness"]["comparable"] = ["1", "2", "3", "4"]
    (path / "instrument.json").write_text(json.dumps(about))
    made = from_runs({"specific": path})
    found = made.kinds["specific"]
    assert (found.passed, found.graded) == (164, 1540)
    assert found.mean_over_repeats == pytest.approx(0.1061, abs=5e-5)
    assert sum(kinds["specific"].passed for kinds in made.categories.values()) == 164
    assert found.flip_rate is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low < 164 / 1540 < found.high
