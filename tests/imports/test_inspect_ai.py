"""Inspect logs, JSON and .eval: epochs, values of every kind, scorers, and samples that failed."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from runner.errors import ConfigError, DatasetError, UsageError
from tests.support.imported import bring, labels, rows, said, texts, write_json


def sample(name: Any, value: Any, epoch: int = 1, scorer: str = "match", **more: Any) -> dict[str, Any]:
    return {
        "id": name, "epoch": epoch, "input": f"Question {name}?", "target": f"gold {name}", "messages": [],
        "output": {"model": "m", "choices": [], "completion": f"answer {epoch}"},
        "scores": {scorer: {"value": value, "answer": "a", "explanation": "why"}}, "metadata": {}, **more,
    }  # fmt: skip


def head(**more: Any) -> dict[str, Any]:
    spec = {
        "task": "memory", "model": "openai/gpt-4.1-mini", "dataset": {"name": "d", "samples": 2},
        "config": {"epochs": 2}, "scorers": [{"name": "match"}], **more,
    }  # fmt: skip
    return {"version": 2, "status": "success", "eval": spec, "results": {"total_samples": 4}}


def log(tmp_path: Path, *samples: dict[str, Any], name: str = "log.json", **more: Any) -> Path:
    return write_json(tmp_path / name, {**head(**more), "samples": list(samples)})


def zipped(path: Path, top: dict[str, Any] | None, *samples: dict[str, Any], start: str = "header.json") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        if top is not None:
            archive.writestr(start, json.dumps(top))
        archive.writestr("summaries.json", "[]")
        for item in samples:
            archive.writestr(f"samples/{item['id']}_epoch_{item['epoch']}.json", json.dumps(item))
    return path


FOUR = (sample(2, "I", 2), sample("q1", "C"), sample(2, "C", 1), sample("q1", "I", 2))


@pytest.mark.parametrize("kind", ["json", "eval", "unfinished"])
def test_epochs_are_repeats(tmp_path: Path, kind: str) -> None:
    if kind == "json":
        file = log(tmp_path, *FOUR)
    else:
        file = zipped(
            tmp_path / "a.eval", head(), *FOUR, start="header.json" if kind == "eval" else "_journal/start.json"
        )
    arm = bring("inspect_ai", file)
    assert labels(arm) == {"2": ("CORRECT", "WRONG"), "q1": ("CORRECT", "WRONG")}
    assert texts(arm)["q1"].answers == ("answer 1", "answer 2")
    assert texts(arm)["q1"].gold.answers == ("gold q1",)
    known = arm.instrument.rows
    assert known["reader.model"] == "openai:gpt-4.1-mini"
    assert known["judge.model"] == "scorer:inspect_ai/match"
    assert known["repeats"] == 2
    assert "questions: 2, as the file states" in said(arm)


def test_values_of_every_kind(tmp_path: Path) -> None:
    values = ["C", "I", "P", "N", 1, 0.0, 0.75, True, "yes", None, {"a": 1}, 7, "Z"]
    arm = bring("inspect_ai", log(tmp_path, *(sample(f"q{i}", value) for i, value in enumerate(values))))
    assert [row.labels[0] for row in arm.rows] == [
        "CORRECT", "WRONG", "WRONG", "ABSTAIN", "CORRECT", "WRONG", "WRONG", "CORRECT", "CORRECT",
        "judge_error", "judge_unparseable", "judge_unparseable", "judge_unparseable",
    ]  # fmt: skip
    assert "partly right, counted by --threshold 1: 2" in said(arm)
    lenient = bring("inspect_ai", tmp_path / "log.json", flags={"threshold": "0.5"})
    assert [rows(lenient)[name].label for name in ("q2", "q6")] == ["CORRECT", "CORRECT"]
    with pytest.raises(ConfigError, match="--threshold"):
        bring("inspect_ai", tmp_path / "log.json", flags={"threshold": "0"})


def test_unscored_failed_and_invalidated_samples_are_errors(tmp_path: Path) -> None:
    """The library writes an unscored value as NaN, which is no JSON."""
    file = tmp_path / "log.json"
    samples = [
        sample("a", "C"),
        sample("b", "UNSCORED"),
        sample("c", "C", error={"message": "timeout", "traceback": "…"}),
        sample("d", "C", invalidation={"author": "x"}),
        sample("e", "C", scores=None),
    ]
    text = json.dumps({**head(), "samples": samples}).replace('"UNSCORED"', "NaN")
    file.write_text(text)
    arm = bring("inspect_ai", file)
    assert {row.id: row.status for row in arm.rows} == {
        "a": "ok", "b": "judge_error", "c": "reader_error", "d": "reader_error", "e": "judge_error",
    }  # fmt: skip
    assert rows(arm)["c"].error == "timeout"
    assert "WARNING: the file states 2" in said(arm)


def test_several_scorers_want_a_choice(tmp_path: Path) -> None:
    both = sample("a", "C")
    both["scores"]["model_graded_qa"] = {"value": "I"}
    graded = {"scorers": [{"name": "model_graded_qa", "options": {"model": "openai/gpt-4o"}}]}
    file = log(tmp_path, both, **graded)
    with pytest.raises(UsageError, match="match, model_graded_qa; choose one with --score NAME"):
        bring("inspect_ai", file)
    arm = bring("inspect_ai", file, flags={"score": "model_graded_qa"})
    assert labels(arm) == {"a": ("WRONG",)}
    assert arm.instrument.rows["judge.model"] == "openai:gpt-4o"
    with pytest.raises(UsageError, match="--score other"):
        bring("inspect_ai", file, flags={"score": "other"})


def test_graders_that_no_log_names_are_unknown(tmp_path: Path) -> None:
    graded = bring("inspect_ai", log(tmp_path, sample("a", "C", scorer="model_graded_qa"), scorers=None))
    assert graded.instrument.rows["judge.model"] == "unknown"
    own = bring("inspect_ai", log(tmp_path, sample("a", "C", scorer="mine"), scorers=None))
    assert own.instrument.rows["judge.model"] == "unknown"
    roles = {"grader": {"model": "anthropic/claude-x"}}
    role = bring(
        "inspect_ai", log(tmp_path, sample("a", "C", scorer="model_graded_fact"), scorers=None, model_roles=roles)
    )
    assert role.instrument.rows["judge.model"] == "openai:claude-x"


def test_messages_attachments_clusters_and_a_mock(tmp_path: Path) -> None:
    talk = [{"role": "system", "content": "be short"}, {"role": "user", "content": [{"type": "text", "text": "Who?"}]}]
    item = sample(
        "a", "C", input=talk, target=["x", "y"], metadata={"category": "who", "cluster": "t1"},
        output={"choices": [{"message": {"content": "attachment://1f"}}]}, attachments={"1f": "a long answer"},
    )  # fmt: skip
    arm = bring("inspect_ai", log(tmp_path, item, model="mockllm/model"))
    assert texts(arm)["a"].question == "Who?"
    assert texts(arm)["a"].gold.answers == ("x", "y")
    assert texts(arm)["a"].answers == ("a long answer",)
    assert (rows(arm)["a"].category, rows(arm)["a"].cluster) == ("who", "t1")
    assert arm.instrument.fakes == ["reader mockllm/model"]


def test_a_log_that_did_not_end_says_so(tmp_path: Path) -> None:
    value = {**head(), "status": "cancelled", "samples": [sample("a", "C")]}
    assert "status is 'cancelled'" in said(bring("inspect_ai", write_json(tmp_path / "l.json", value)))


def test_damage_is_one_line(tmp_path: Path) -> None:
    cases: list[tuple[Path, str]] = [
        (log(tmp_path, sample("a", "C"), sample("a", "C"), name="twice.json"), "stands 2 times as repeat 1"),
        (zipped(tmp_path / "headless.eval", None, sample("a", "C")), "neither header.json nor"),
        (write_json(tmp_path / "n.json", head()), "samples: expected a list, found null"),
        (
            write_json(tmp_path / "s.json", {**head(), "samples": [{"id": "a", "scores": {"m": 3}}]}),
            "expected an object",
        ),
    ]
    whole = zipped(tmp_path / "whole.eval", head(), sample("a", "C", padding="x" * 5000))
    data = bytearray(whole.read_bytes())
    at = data.index(b"samples/a_epoch_1.json") + 40
    data[at : at + 40] = b"\0" * 40
    broken = tmp_path / "broken.eval"
    broken.write_bytes(bytes(data))
    cases.append((broken, "samples/a_epoch_1.json: damaged"))
    for file, expected in cases:
        with pytest.raises(DatasetError, match=expected) as told:
            bring("inspect_ai", file)
        assert "\n" not in str(told.value)


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.imports._shared.eval_log.DOCUMENT", 1 << 16)
    file = zipped(tmp_path / "bomb.eval", head(), sample("a", "C", padding="0" * (1 << 20)))
    assert file.stat().st_size < 1 << 14
    with pytest.raises(DatasetError, match="unpacked"):
        bring("inspect_ai", file)
