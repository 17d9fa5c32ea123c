"""promptfoo results: providers as arms, repeats under new indexes, and passes that are none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runner.errors import DatasetError
from tests.support.imported import bring, bring_all, labels, rows, said, texts, write_json, write_lines

CHECK = [{"type": "llm-rubric", "value": "right"}]


def row(provider: str, test: int, success: Any, variables: dict[str, Any], **more: Any) -> dict[str, Any]:
    value: dict[str, Any] = {
        "provider": {"id": provider, "label": more.pop("label", "")},
        "promptId": more.pop("prompt", "p0"), "prompt": {"raw": "…", "label": "…"}, "promptIdx": 0, "testIdx": test,
        "vars": variables, "testCase": {"vars": variables, "assert": CHECK, "metadata": more.pop("metadata", {})},
        "success": success, "score": 1 if success else 0, "failureReason": 0 if success else 1,
        "response": {"output": "an answer"}, "latencyMs": 5,
        "gradingResult": {"pass": success, "score": 1, "reason": "so", "componentResults": [{"pass": success}]},
    }  # fmt: skip
    return {**value, **more}


def whole(*rows: dict[str, Any], version: int = 3) -> dict[str, Any]:
    stats = {"successes": 0, "failures": 0, "errors": 0}
    return {
        "evalId": "e",
        "results": {"version": version, "results": list(rows), "prompts": [], "stats": stats},
        "config": {},
    }


def asked(i: int) -> dict[str, Any]:
    return {
        "question_id": f"q{i}",
        "question": f"Question {i}?",
        "answer": f"gold {i}",
        "category": "facts",
        "cluster": f"c{i % 2}",
    }


def test_every_provider_is_an_arm(tmp_path: Path) -> None:
    file = write_json(
        tmp_path / "results.json",
        whole(
            row("openai:chat:gpt-4.1-mini", 1, False, asked(1)),
            row("file://memory.py", 0, True, asked(0), label="our memory"),
            row("openai:chat:gpt-4.1-mini", 0, True, asked(0)),
            row("file://memory.py", 1, True, asked(1), label="our memory"),
        ),
    )
    plain, ours = sorted(bring_all("promptfoo", file), key=lambda arm: arm.instrument.rows["reader.model"])
    assert plain.name == "results-openai-chat-gpt-4.1-mini"
    assert labels(plain) == {"q0": ("CORRECT",), "q1": ("WRONG",)}
    assert plain.instrument.rows["reader.model"] == "openai:gpt-4.1-mini"
    assert ours.name == "results-our-memory"
    assert ours.instrument.rows["reader.model"] == "unknown"  # a script says nothing of the model behind it
    assert labels(ours) == {"q0": ("CORRECT",), "q1": ("CORRECT",)}
    assert rows(ours)["q1"].cluster == "c1"
    assert rows(ours)["q1"].category == "facts"
    assert texts(ours)["q1"].gold.answers == ("gold 1",)
    assert plain.instrument.rows["slice.sha256"] == ours.instrument.rows["slice.sha256"]
    assert plain.config["arm"]["settings"] != ours.config["arm"]["settings"]


def test_repeats_are_told_by_the_test_itself(tmp_path: Path) -> None:
    """``--repeat 2`` asks every test again under a new index, in no order."""
    one, two = {"q": "one", "_conversation": []}, {"q": "two"}
    file = write_json(
        tmp_path / "r.json",
        whole(
            row("x", 3, False, two), row("x", 0, True, one), row("x", 2, True, two),
            row("x", 1, False, {**one, "_conversation": [1]}),
        ),
    )  # fmt: skip
    arm = bring("promptfoo", file)
    assert sorted(labels(arm).values()) == [("CORRECT", "WRONG"), ("CORRECT", "WRONG")]
    assert all(name.startswith("test-") for name in labels(arm))
    assert arm.instrument.rows["repeats"] == 2
    again = bring("promptfoo", write_json(tmp_path / "s.json", whole(row("y", 9, True, two), row("y", 7, True, one))))
    assert set(labels(again)) == set(labels(arm))  # the order of the tests is not in their ids


def test_passes_that_are_none(tmp_path: Path) -> None:
    none = {"pass": True, "score": 1, "reason": "No assertions"}
    broken = {
        "pass": False,
        "score": 0,
        "reason": "HTTP 503",
        "componentResults": [{"pass": False, "metadata": {"graderError": True}}],
    }
    file = write_json(
        tmp_path / "r.json",
        whole(
            row("x", 0, True, asked(0), gradingResult=none),
            row("x", 1, False, asked(1), gradingResult=broken),
            row("x", 2, False, asked(2), failureReason=2, gradingResult=None, response={"error": "429"}, error="429"),
            row("x", 3, False, asked(3), failureReason=0, gradingResult=None, response={}, error="No output"),
            row("x", 4, False, asked(4), failureReason=2, gradingResult=None, error="grader crashed"),
            row("x", 5, None, asked(5)),
            row("x", 6, True, asked(6), response={"output": {"b": 1, "a": [2]}}),
            row("x", 7, False, asked(7)),
        ),
    )  # fmt: skip
    arm = bring("promptfoo", file)
    assert {row.id: row.status if row.status != "ok" else row.label for row in arm.rows} == {
        "q0": "judge_error", "q1": "judge_error", "q2": "reader_error", "q3": "reader_error", "q4": "judge_error",
        "q5": "judge_error", "q6": "CORRECT", "q7": "WRONG",
    }  # fmt: skip
    assert rows(arm)["q2"].error == "429"
    assert texts(arm)["q6"].answers == ('{"a": [2], "b": 1}',)
    assert "rows without an assertion (a pass to promptfoo): 1" in said(arm)


def test_prompts_are_arms_too_and_lines_are_read(tmp_path: Path) -> None:
    file = write_lines(
        tmp_path / "results.jsonl",
        row("x", 0, True, asked(0), prompt="aaa"), row("x", 0, False, asked(0), prompt="bbb"),
    )  # fmt: skip
    assert [arm.name for arm in bring_all("promptfoo", file)] == ["results-x-aaa", "results-x-bbb"]
    elder = write_json(tmp_path / "v2.json", whole(row("x", 0, True, asked(0)), version=2))
    assert labels(bring("promptfoo", elder)) == {"q0": ("CORRECT",)}
    bare = write_json(tmp_path / "bare.json", {"version": 3, "results": [row("x", 0, True, asked(0))]})
    assert labels(bring("promptfoo", bare)) == {"q0": ("CORRECT",)}


def test_arms_of_one_name_stay_apart(tmp_path: Path) -> None:
    file = write_json(tmp_path / "r.json", whole(row("a b", 0, True, asked(0)), row("a-b", 0, True, asked(0))))
    assert len({arm.name for arm in bring_all("promptfoo", file)}) == 2


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"results": {"version": 3}}, "results.results: expected a list, found null"),
        ({"results": {"results": [3]}}, "result 0: expected an object"),
        ({"outputs": []}, "results: expected an object, found null"),
        ({"results": {"results": []}}, "no question in it"),
    ],
)
def test_another_layout_is_one_line(tmp_path: Path, value: Any, expected: str) -> None:
    with pytest.raises(DatasetError, match=expected):
        bring("promptfoo", write_json(tmp_path / "r.json", value))
