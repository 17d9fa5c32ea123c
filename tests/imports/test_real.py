"""Real published results: counts and figures that others reported, and the verdict that they come to."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.imported import bring, command, rows, said, write_json

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
DECLARED = ("reader=same", "judge=same", "dataset=same", "protocol=same", "system=treatment")
WORDS = [part for word in DECLARED for part in ("--declare", word)]


def audit(shared_data: Path, name: str) -> Path:
    return shared_data / "locomo_audit" / name


def compared(*words: str) -> dict[str, Any]:
    done = command("gate", *words, *WORDS, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    value: dict[str, Any] = json.loads(done.stdout)["groups"][0]["comparisons"][0]
    return value


@pytest.mark.long
def test_cot_against_memos(cli: Cli, shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = {}
    for name in ("memos", "cot"):
        done = cli("import", "locomo-audit", str(audit(shared_data, f"gpt-4.1-mini-{name}.json")), "--into", name)
        assert done.returncode == 0, done.stderr
        told[name] = done.stdout
    assert "correct: 1264 of 1540 (82.1%)" in told["memos"]
    assert "they disagree for 14" in told["memos"]
    assert "correct: 1427 of 1540 (92.7%)" in told["cot"]
    assert "they disagree for 10" in told["cot"]
    assert cli("gate", "memos", "cot").returncode == 5
    found = compared("memos", "cot")
    verdict = found["verdict"]
    assert found["outcome"] == "pass"
    assert round(verdict["delta"] * 100, 2) == 10.58
    assert (verdict["wins"], verdict["losses"], verdict["n"], verdict["clusters"]) == (186, 23, 1540, 10)
    assert (round(verdict["percentile"]["low"] * 100, 2), round(verdict["percentile"]["high"] * 100, 2)) == (
        8.95,
        12.50,
    )
    assert "judge.rubric" in found["declared_same"]


def test_with_the_audit_both_denominators_are_shown(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("memos", "cot"):
        done = command("import", "locomo-audit", str(audit(shared_data, f"gpt-4.1-mini-{name}.json")), "--into", name,
                       "--patches", str(audit(shared_data, "errors.json")))  # fmt: skip
        assert "denominators: 1540 as published, 1441 patched; ceiling against the published gold 93.6 %" in done.stdout
    found = compared("memos", "cot")
    published = found["others"]["all questions (those with corrupt gold included)"]
    assert (found["verdict"]["n"], published["n"]) == (1441, 1540)
    assert round(published["delta"] * 100, 2) == 10.58
    report = command("report", "cot").stdout
    assert "overall_comparable_patched  1441" in report
    assert "dataset.patches" not in found["declared_same"]


def test_known_wrong_answers_measure_the_judge(shared_data: Path) -> None:
    arm = bring("locomo-audit", audit(shared_data, "ap_v1_scored.json"))
    assert sum(row.label == "CORRECT" for row in arm.rows) == 164
    by_repeat = [sum(row.labels[i] == "CORRECT" for row in arm.rows) / 1540 for i in range(3)]
    assert round(sum(by_repeat) / 3, 4) == 0.1061
    assert "164 of 1540" in said(arm)
    assert "mean 10.61%" in said(arm)
    assert arm.instrument.rows["judge.model"] == "unknown"


def test_an_import_agrees_with_the_dataset_and_then_knows_it(shared_data: Path, tmp_path: Path) -> None:
    data = shared_data / "locomo" / "locomo10.json"
    arm = bring("evermemos", audit(shared_data, "gpt-4.1-mini-cot.json"), dataset=str(data))
    known = arm.instrument.rows
    assert known["dataset.sha256"] == "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4"
    assert known["dataset.version"] == "locomo10@3eb6f2c5"


def test_positions_without_ids_find_the_questions_of_the_dataset(shared_data: Path, tmp_path: Path) -> None:
    """The same answers in Mem0's layout: no ids, no category 5. Every question and gold is that of the dataset."""
    source = json.loads(audit(shared_data, "gpt-4.1-mini-cot.json").read_text())["detailed_results"]
    value = {
        str(i): [
            {"question": q["question"], "answer": q["golden_answer"], "response": q["generated_answer"],
             "category": q["category"], "llm_score": int(q["llm_judgments"]["judgment_1"])}
            for q in questions
        ]
        for i, questions in enumerate(source.values())
    }  # fmt: skip
    file = write_json(tmp_path / "m.json", value)
    data = str(shared_data / "locomo" / "locomo10.json")
    arm = bring("mem0", file, dataset=data)
    assert sum(row.label == "CORRECT" for row in arm.rows) == 1426
    same = bring("evermemos", audit(shared_data, "gpt-4.1-mini-cot.json"), dataset=data)
    assert arm.instrument.rows["slice.sha256"] == same.instrument.rows["slice.sha256"]


def test_longmemeval_ids_types_and_abstentions(shared_data: Path) -> None:
    arm = bring("longmemeval", shared_data / "longmemeval" / "text_context_eval.json")
    assert len(rows(arm)) == 500
    assert Counter(row.category for row in arm.rows) == {
        "multi-session": 133, "temporal-reasoning": 133, "knowledge-update": 78, "single-session-user": 70,
        "single-session-assistant": 56, "single-session-preference": 30,
    }  # fmt: skip
    assert "(_abs in the id): 30" in said(arm)
    assert "labels: 'yes' 435, 'no' 53, 'Yes' 8, 'No' 4" in said(arm)
    assert sum(row.label == "CORRECT" for row in arm.rows) == 443
