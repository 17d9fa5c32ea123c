"""The same answers under several judges, worked by hand."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from rich.console import Console

from runner.analysis.judge_table import JudgeTable, judge_table, judge_tables, runs_by_answers
from runner.errors import UsageError
from runner.record.rundir import RunDir
from runner.report.judges import judge_tables as printed
from runner.types import GOLD_EXCLUDED
from tests.support.answersets import item, plain_items, write_source

# What each kind of answer is to each judge: of 100, 53 are plain, 20 loose and 27 bad.
KINDS = (53, 20, 27)
HARSH = {"plain": "CORRECT", "loose": "WRONG", "bad": "WRONG"}
MILD = {"plain": "CORRECT", "loose": "CORRECT", "bad": "WRONG"}


def graded(path: Path, name: str, items: list[Any], *, answers: str | None = "A", own: str = "mild") -> RunDir:
    """A run of a judge over answers of that identity; ``None``: the run that asked for them."""
    config = {"judge": {"name": name, "provider": "imported", "model": name}}
    write_source(path, items, config=config, instrument={"judge.model": f"imported:{name}"})
    if answers is not None:
        source = {
            "run": "src",
            "answers": answers,
            "judge": {"judge.model": f"imported:{own}", "judge.params": "x", "judge.rubric": "x"},
        }
        (path / "provenance.json").write_text(json.dumps({"source": source}))
    return RunDir(path)


def shown(tables: list[JudgeTable]) -> str:
    console = Console(width=300, record=True, markup=False)
    console.print(printed(tables))
    return console.export_text()


def test_a_judge_that_rejects_paraphrases(tmp_path: Path) -> None:
    """53 plain, 20 loose and 27 bad answers: the mild judge accepts 73, the harsh one 53 of them and nothing else."""
    harsh = graded(tmp_path / "harsh", "harsh", plain_items(*KINDS, HARSH))
    mild = graded(tmp_path / "mild", "mild", plain_items(*KINDS, MILD))
    table = judge_table([harsh, mild])
    assert table.reference == "mild"  # which graded these answers first
    (whole, category) = table.sections
    assert (whole.name, whole.questions, category.name) == ("overall_comparable", 100, "1 multi-hop")
    line, reference = whole.judges
    assert (line.judge, line.n, line.errors, line.accuracy, reference.accuracy) == ("harsh", 100, 0, 0.53, 0.73)
    assert reference.against is None
    assert line.against is not None
    assert (line.against.agreement, line.against.only_reference, line.against.only_judge) == (0.8, 20, 0)
    assert line.against.kappa == pytest.approx(0.2862 / 0.4862)
    assert line.against.direction == "harsher"
    # Clusters of ten: five are all accepted, one to three parts, four not at all. Widened for ten clusters.
    assert line.interval is not None
    assert 0 <= line.interval.low < 0.53 < line.interval.high <= 1
    text = shown([table])
    assert "harsh agrees with mild on 80 of 100 (kappa 0.59): rejects 20 that it accepts, accepts 0" in text
    assert "harsher, in one direction only" in text
    assert (
        json.loads(json.dumps(table.to_dict(), allow_nan=False))["sections"]["overall_comparable"]["questions"] == 100
    )


def test_which_judge_is_the_reference(tmp_path: Path) -> None:
    items = plain_items(2, 1, 1)
    source = graded(tmp_path / "src", "first", items, answers=None)
    answers = hashlib.sha256((tmp_path / "src" / "texts.jsonl").read_bytes()).hexdigest()
    own, b, c = (graded(tmp_path / n, n, items, answers=answers, own="own") for n in ("own", "b", "c"))
    assert judge_table([b, source, c]).reference == "first"  # who asked for the answers
    assert judge_table([b, own, c]).reference == "own"  # who graded them first, graded again
    assert judge_table([c, b]).reference == "b"  # the last one
    assert judge_table([c, b], "c").reference == "c"
    assert [table.reference for table in judge_tables([b, source], "b")] == ["b"]
    with pytest.raises(UsageError, match=r"--reference ownn: no such judge here \(did you mean 'own'\?\)"):
        judge_tables([own, b], "ownn")


def test_runs_are_grouped_by_their_answers(tmp_path: Path) -> None:
    items = plain_items(2, 1, 1)
    runs = {
        name: graded(tmp_path / name, "j" + name, items, answers=answers)
        for name, answers in (("a", "A"), ("b", "B"), ("c", "A"), ("d", "D"))
    }
    other = graded(tmp_path / "src", "first", items, answers=None)
    groups = [[run.path.name for run in group] for group in runs_by_answers([*runs.values(), other])]
    assert groups == [["a", "c"], ["b"], ["d"]]
    assert [list(table.judges) for table in judge_tables(list(runs.values()))] == [["ja", "jc"]]
    assert runs_by_answers([other, RunDir(tmp_path / "nowhere")]) == []


def test_errors_of_either_side_are_left_out_and_counted(tmp_path: Path) -> None:
    good, bad, none = ["CORRECT"], ["WRONG"], ["judge_error"]
    ours = [item(0, "x", good), item(1, "x", good), item(2, "x", bad), item(3, "x", none, status="judge_error")]
    theirs = [item(0, "x", good), item(1, "x", none, status="judge_error"), item(2, "x", good), item(3, "x", good)]
    table = judge_table([graded(tmp_path / "a", "a", ours), graded(tmp_path / "b", "b", theirs)])
    first, second = table.sections[0].judges
    assert (first.n, first.errors, second.n, second.errors) == (3, 1, 3, 1)
    assert first.accuracy == pytest.approx(2 / 3)
    assert second.accuracy == 1.0
    assert first.against is not None
    assert (first.against.n, first.against.errors, first.against.only_judge, first.against.only_reference) == (
        2,
        2,
        0,
        1,
    )
    assert "2 left out where either failed" in shown([table])
    assert first.interval is None  # one cluster
    assert " none " in shown([table])


def test_only_what_every_judge_has_and_whose_gold_stands(tmp_path: Path) -> None:
    full = [item(n, "x", ["CORRECT"], category="1" if n < 20 else "5", cluster=n) for n in range(30)]
    full[0] = (replace(full[0][0], flags=(GOLD_EXCLUDED,)), full[0][1])
    sample = [full[n] for n in (0, 1, 2, 22, 23)]
    table = judge_table([graded(tmp_path / "a", "a", full), graded(tmp_path / "b", "b", sample)])
    assert [(part.name, part.questions) for part in table.sections] == [
        ("overall_comparable", 2),
        ("overall_all", 4),
        ("1 multi-hop", 2),
        ("5 adversarial", 2),
    ]
    text = shown([table])
    assert "over the 5 questions that every judge has, of 30" in text
    assert "1 questions whose gold is patched away are left out" in text
    with pytest.raises(UsageError, match="share no question"):
        judge_table([graded(tmp_path / "c", "c", full[:3]), graded(tmp_path / "d", "d", full[10:])])


def test_all_accepted_or_none_still_has_an_interval(tmp_path: Path) -> None:
    """Forty clusters of one, all alike: what a share of 0 leaves open is 1 − .025^(1/40) = 8.8 %."""
    items = {label: [item(n, "x", [label], cluster=n) for n in range(40)] for label in ("CORRECT", "WRONG")}
    runs = [graded(tmp_path / label, label.lower(), rows) for label, rows in items.items()]
    right, wrong = judge_table(runs).sections[0].judges
    assert right.interval is not None
    assert wrong.interval is not None
    assert (right.interval.low, right.interval.high) == pytest.approx((0.025 ** (1 / 40), 1.0))
    assert (wrong.interval.low, wrong.interval.high) == pytest.approx((0.0, 1 - 0.025 ** (1 / 40)))


def test_the_same_judge_twice_and_an_unfinished_one(tmp_path: Path) -> None:
    items = plain_items(3, 1, 1)
    one = graded(tmp_path / "x" / "0-same", "same", items)
    two = graded(tmp_path / "y" / "0-same", "same", items[:4])
    value = json.loads((two.path / "instrument.json").read_text())
    value["census"]["questions"] = 5
    (two.path / "instrument.json").write_text(json.dumps(value))
    table = judge_table([one, two])
    assert list(table.judges) == ["same [x/0-same]", "same [y/0-same]"]
    assert table.alike == ["same [x/0-same]"]
    assert "it differs by its own flips" in shown([table])
    assert "same [y/0-same]: is not finished, 1 of its questions are missing" in table.notes


def test_a_judge_that_nobody_knows_is_not_the_same_judge(tmp_path: Path) -> None:
    items = plain_items(3, 1, 1)
    runs = [graded(tmp_path / name, "same", items, own="unknown") for name in ("a", "b")]
    for run in runs:
        value = json.loads((run.path / "instrument.json").read_text())
        value["rows"]["judge.rubric"] = "unknown"
        (run.path / "instrument.json").write_text(json.dumps(value))
    assert judge_table(runs).alike == []


def test_hostile_names_are_shown_and_not_obeyed(tmp_path: Path) -> None:
    items = plain_items(2, 0, 1)
    run = graded(tmp_path / "a", "a", items)
    other = graded(tmp_path / "b", "b", items)
    value = json.loads((run.path / "instrument.json").read_text())
    value["harness"]["categories"]["1"] = "\x1b[31mred[/bold]"
    value["fakes"] = ["judge \x1b]0;title\x07"]
    (run.path / "instrument.json").write_text(json.dumps(value))
    text = shown([judge_table([run, other])])
    assert "\x1b" not in text
    assert "\x07" not in text
