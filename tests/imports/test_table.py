"""Any table by a map of columns: CSV and JSON lines, labels or scores, repeats, statuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.errors import DatasetError, UsageError
from tests.support.imported import bring, labels, rows, said, texts, write_lines

CSV = """qid,verdict,run,conversation,kind,asked,expected,output,state
a,Yes,1,c1,when,When?,May,in May,ok
a,nope,2,c1,when,When?,May,June,
b,n/a,1,c1,who,Who?,Ann,unknown,
b,Yes,2,c1,who,Who?,Ann,"Ann, of course",
c,,1,c2,who,Who else?,Bob,Bob,
c,Yes,2,c2,who,Who else?,Bob,,timeout
d,later,1,c2,who,Who now?,Eve,Eve,
d,TIMEOUT,2,c2,who,Who now?,Eve,Eve,search_error
"""

COLUMNS = {
    "id": "qid", "label": "verdict", "repeat": "run", "cluster": "conversation", "category": "kind",
    "question": "asked", "gold": "expected", "answer": "output", "status": "state", "reader": "m-1", "judge": "j-1",
    "values": {"correct": ["yes"], "wrong": ["NOPE"], "abstain": ["n/a"], "error": ["timeout"]},
}  # fmt: skip


def column_map(tmp_path: Path, **columns: Any) -> dict[str, str]:
    file = tmp_path / "map.yaml"
    file.write_text(yaml.safe_dump(columns))
    return {"map": str(file)}


def test_a_csv_with_everything(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("\ufeff" + CSV, encoding="utf-8")
    arm = bring("table", file, flags=column_map(tmp_path, **COLUMNS))
    assert labels(arm) == {
        "a": ("CORRECT", "WRONG"),
        "b": ("ABSTAIN", "CORRECT"),
        "c": ("judge_error", "reader_error"),
        "d": ("judge_unparseable", "search_error"),
    }
    assert {row.id: (row.label, row.status) for row in arm.rows} == {
        "a": ("WRONG", "ok"),
        "b": ("WRONG", "ok"),  # a tie is no majority
        "c": ("", "reader_error"),
        "d": ("", "search_error"),
    }
    assert rows(arm)["c"].error == "status: timeout"
    assert texts(arm)["b"].answers == ("unknown", "Ann, of course")
    assert {row.cluster for row in arm.rows} == {"c1", "c2"}
    known = arm.instrument.rows
    assert (known["reader.model"], known["judge.model"], known["harness"]) == ("openai:m-1", "openai:j-1", "imported")
    assert known["dataset.sha256"].startswith("content:")
    assert arm.instrument.harness.cluster == "conversation"
    assert "one a conversation" in said(arm)


def test_scores_with_a_threshold_in_json_lines(tmp_path: Path) -> None:
    values = [0.5, 0.49, "0.9", None, "", "high", True, "nan"]
    file = write_lines(tmp_path / "t.jsonl", *({"n": i, "judge": {"score": v}} for i, v in enumerate(values)))
    arm = bring("table", file, flags=column_map(tmp_path, id="n", score="judge.score", threshold=0.5))
    assert [row.labels[0] for row in arm.rows] == [
        "CORRECT", "WRONG", "CORRECT", "judge_error", "judge_error", "judge_unparseable", "judge_error", "judge_error",
    ]  # fmt: skip
    assert {row.cluster for row in arm.rows} == {str(i) for i in range(8)}


def test_without_values_labels_are_read_as_everywhere(tmp_path: Path) -> None:
    file = tmp_path / "t.tsv"
    file.write_text("id\tlabel\na\tCORRECT\nb\tincorrect\nc\tabstain\n")
    arm = bring("table", file, flags=column_map(tmp_path, id="id", label="label"))
    assert [row.label for row in arm.rows] == ["CORRECT", "WRONG", "ABSTAIN"]
    assert "wrong 1, abstained 1" in said(arm)
    assert "categories: none told" in said(arm)


def test_a_harness_by_name(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("id,label,type\nconv-26/1,yes,temporal\nconv-26/2,no,Multi-Hop\n")
    arm = bring("table", file, flags=column_map(tmp_path, id="id", label="label", category="type"), harness="locomo_qa")
    assert [row.category for row in arm.rows] == ["2", "1"]
    assert arm.instrument.harness.comparable == ["1", "2", "3", "4"]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"label": "verdict"}, "id: is missing"),
        ({"id": "qid"}, "give label, or score and threshold"),
        ({"id": "qid", "label": "verdict", "score": "x"}, "give label, or score and threshold"),
        ({"id": "qid", "score": "verdict"}, "a score needs a threshold"),
        ({"id": "qid", "label": "verdict", "lable": "x"}, "lable: no such key.*did you mean 'label'"),
        ({"id": "qid", "label": "verdict", "values": {"correct": ["a"], "wrong": ["A"]}}, "two meanings"),
        ({"id": "qid", "label": "verdicts"}, "line 2: has no column 'verdicts'.*it has qid, verdict"),
        ({"id": "qid", "label": "verdict", "repeat": "run", "values": {"correct": ["x"]}}, "no label is understood"),
        ({"id": "qid", "label": "verdict"}, "stands 2 times; keep one answer, or say which repeat"),
        ({"id": "qid", "label": "verdict", "repeat": "run", "question": "output"}, "has another question"),
    ],
)
def test_a_wrong_map_says_what_is_wrong(tmp_path: Path, columns: dict[str, Any], expected: str) -> None:
    file = tmp_path / "t.csv"
    file.write_text(CSV)
    with pytest.raises(UsageError, match=expected):
        bring("table", file, flags=column_map(tmp_path, **columns))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("id,label\na,yes,extra\n", "line 2: 3 fields where the header has 2"),
        ("id,label\na\n", "line 2: 1 fields where the header has 2"),
        ("id,id\na,yes\n", "names the column 'id' twice"),
        ("id,\na,yes\n", "a column without a name"),
        ('id,label\n"a,yes\n', "not a CSV file"),
        ("id,label\n", "no question in it"),
    ],
)
def test_a_damaged_csv_is_one_line(tmp_path: Path, content: str, expected: str) -> None:
    file = tmp_path / "t.csv"
    file.write_text(content)
    with pytest.raises(DatasetError, match=expected):
        bring("table", file, flags=column_map(tmp_path, id="id", label="label"))


def test_the_map_itself_is_untrusted(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("id,label\na,yes\n")
    with pytest.raises(UsageError, match="needs --map FILE"):
        bring("table", file)
    with pytest.raises(UsageError, match="cannot be read"):
        bring("table", file, flags={"map": str(tmp_path / "none.yaml")})
    for text, expected in (
        ("!!python/object:os.system {}", "not YAML"),
        ("- a", "expected an object"),
        ("a: [", "not YAML"),
        ("id: a\nid: b\n", r"not YAML \(the key 'id' stands twice \(line 2\)\)"),
        ("id: &x a\nlabel: *x\n", r"aliases \(\*name\) are not read \(line 2\)"),
    ):
        bad = tmp_path / "bad.yaml"
        bad.write_text(text)
        with pytest.raises(UsageError, match=expected):
            bring("table", file, flags={"map": str(bad)})
