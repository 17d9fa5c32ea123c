"""``python -m runner import``, and what gate, report, diff and resume make of an imported run.

As processes where the command line matters; in this process where only what it comes to does.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner import imports
from runner.cli import import_
from runner.errors import RecordError
from runner.imports._shared import write
from tests.conftest import ROOT, runs_in
from tests.support.imported import bring, command, write_json, write_lines

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
DECLARED = ("reader=same", "judge=same", "dataset=same", "protocol=same", "system=treatment")


def declare(*words: str) -> list[str]:
    return [part for word in words for part in ("--declare", word)]


def results(
    path: Path, right: Callable[[int], bool], *, model: str = "m-1", judge: str = "j-1", prompt: str = ""
) -> Path:
    """Ten conversations of twelve questions each, right where told."""
    users = {
        f"locomo_exp_user_{c}": [
            {
                "question_id": f"locomo_{c}_qa{q}",
                "question": f"Question {c}/{q}?",
                "golden_answer": "blue",
                "generated_answer": "blue" if right(12 * c + q) else "red",
                "llm_judgments": {f"judgment_{i}": right(12 * c + q) for i in (1, 2, 3)},
                "category": "4",
            }
            for q in range(12)
        ]
        for c in range(10)
    }
    metadata = {"answer_model": model, "judge_model": judge, "num_runs": 3, "answer_prompt": prompt}
    return write_json(path, {"detailed_results": users, "total_questions": 120, "metadata": metadata})


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Two imports in the current folder: 60 of 120 right, and 96 of the same 120."""
    monkeypatch.chdir(tmp_path)
    results(tmp_path / "base.json", lambda i: i % 2 == 0)
    results(tmp_path / "better.json", lambda i: i % 10 < 8)
    for name in ("base", "better"):
        assert command("import", "evermemos", f"{name}.json", "--into", name).returncode == 0
    return "base", "better"


def test_a_run_directory_whole(cli: Cli, tmp_path: Path) -> None:
    file = results(tmp_path / "base.json", lambda i: i % 2 == 0)
    done = cli("import", "locomo-audit", str(file), "--name", "mine", "--expect", "120")
    assert done.returncode == 0, done.stderr
    (run,) = runs_in(tmp_path / "outputs")
    assert run.name.endswith("-mine")
    assert {path.name for path in run.iterdir()} == {
        "config.yaml", "instrument.json", "rows.jsonl", "texts.jsonl", "provenance.json", "summary.json", "lock",
        "seal",
    }  # fmt: skip
    assert "questions: 120, as the file states" in done.stdout
    assert f"compare it: python -m runner gate OTHER {run.relative_to(tmp_path)}" in done.stdout
    source = json.loads((run / "provenance.json").read_text())["import"]
    assert source["format"] == "evermemos"
    assert [(item["name"], len(item["sha256"])) for item in source["files"]] == [("base.json", 64)]
    for path in run.iterdir():
        assert str(tmp_path) not in path.read_text(errors="replace"), path.name
    summary = json.loads((run / "summary.json").read_text())
    assert (summary["state"], summary["left"], summary["errors"]) == ("complete", 0, 0)
    assert summary["groups"]["overall_comparable"]["accuracy_abstain_wrong"] == 0.5
    again = cli("resume", str(run), "--retry-errors")
    assert again.returncode == 0
    assert again.stdout == f"{run.relative_to(tmp_path)}: imported from another harness, nothing to resume\n"
    assert command("resume", str(run)).returncode == 0
    report = command("report", str(run))
    assert report.returncode == 0
    assert "4 single-hop" in report.stdout


def test_the_gate_refuses_and_names_the_command_that_would_compare(cli: Cli, pair: tuple[str, str]) -> None:
    refused = cli("gate", *pair)
    assert refused.returncode == 5
    assert "judge.rubric: 'unknown' against 'unknown'" in refused.stdout
    (line,) = [line for line in refused.stdout.splitlines() if "declare it:" in line]
    words = line.split("declare it: ")[1].split()
    assert words[:6] == ["python", "-m", "runner", "gate", "base", "better"]
    assert sorted(words[7::2]) == sorted(DECLARED)
    told = json.loads(command("gate", *pair, "--json").stdout)["groups"][0]["comparisons"][0]
    assert "python -m runner gate base better --declare" in told["reason"]
    passed = cli(*words[3:])  # as it was printed
    assert passed.returncode == 0, passed.stdout
    assert "PASS" in passed.stdout
    assert "declared to be the same by a person, not recorded" in passed.stdout


def test_a_verdict_carries_its_declarations(pair: tuple[str, str]) -> None:
    done = command("gate", *pair, *declare(*DECLARED), "--json")
    assert done.returncode == 0, done.stdout
    (found,) = json.loads(done.stdout)["groups"][0]["comparisons"]
    verdict = found["verdict"]
    assert found["outcome"] == "pass"
    # Right in A: even i; right in B: i % 10 < 8. Of ten: B alone 1, 3, 5, 7; A alone 8; so 48 wins and 12 losses.
    assert (verdict["wins"], verdict["losses"], verdict["n"], verdict["clusters"]) == (48, 12, 120, 10)
    assert verdict["delta"] == pytest.approx(0.3)
    assert found["declared_same"] == [
        "harness.settings", "dataset.version", "dataset.patches", "k", "reader.params", "reader.prompt", "judge.params",
        "judge.rubric", "crediting",
    ]  # fmt: skip
    assert found["treatment"] == {"arm.settings.imported": ["base", "better"]}
    assert found["identical_share"] is None  # no retrieval was recorded, so none was the same
    assert any(
        "unknown in both runs, declared to be part of the treatment: search_mode" in note for note in found["notes"]
    )


def test_what_is_known_and_differs_is_never_declared_the_same(tmp_path: Path, pair: tuple[str, str]) -> None:
    results(tmp_path / "other.json", lambda i: i % 10 < 8, judge="j-2")
    assert command("import", "evermemos", "other.json", "--into", "other").returncode == 0
    done = command("gate", "base", "other", *declare(*DECLARED))
    assert done.returncode == 5
    assert "judge.model: 'openai:j-1' against 'openai:j-2'" in done.stdout
    open_too = command("gate", "base", "other")
    assert "judge.model is known and no declaration makes the runs the same there" in open_too.stdout
    assert "--declare judge.model=treatment" in open_too.stdout
    ablation = command("gate", "base", "other", *declare(*DECLARED, "judge.model=treatment"))
    assert ablation.returncode == 0
    assert "an ablation of judge.model" in ablation.stdout


def test_prompts_of_other_names_speak_against_declaring_the_reader_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    results(tmp_path / "a.json", lambda i: i % 2 == 0, prompt="short")
    results(tmp_path / "b.json", lambda i: True, prompt="step by step")
    for name in ("a", "b"):
        assert command("import", "evermemos", f"{name}.json", "--into", name).returncode == 0
    refused = command("gate", "a", "b")
    assert "--declare reader=same" in refused.stdout
    assert "--declare reader.prompt=treatment" in refused.stdout
    doubted = command("gate", "a", "b", *declare(*DECLARED))
    assert doubted.returncode == 0
    assert "the readers' prompts have other names in the files, short and step by step" in doubted.stdout
    told = command("gate", "a", "b", *declare(*DECLARED, "reader.prompt=treatment"))
    assert "other names in the files" not in told.stdout
    assert "declared to be part of the treatment: reader.prompt, search_mode" in told.stdout


def test_other_questions_have_no_remedy(tmp_path: Path, pair: tuple[str, str]) -> None:
    value = json.loads((tmp_path / "better.json").read_text())
    value["detailed_results"]["locomo_exp_user_3"].pop()
    write_json(tmp_path / "short.json", value)
    done = command("import", "evermemos", "short.json", "--into", "short")
    assert "WARNING: the file states 120" in done.stdout
    refused = command("gate", "base", "short", *declare(*DECLARED))
    assert refused.returncode == 5
    assert "slice.questions: 120 against 119" in refused.stdout
    assert "declare it:" not in command("gate", "base", "short").stdout


def test_diff_shows_what_two_imports_share(pair: tuple[str, str]) -> None:
    done = command("diff", *pair)
    assert done.returncode == 0
    assert "arm.settings.imported" in done.stdout
    assert "instrument" not in done.stdout


def test_two_imports_of_one_name_are_an_a_a_pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    results(tmp_path / "one.json", lambda i: i % 2 == 0)
    results(tmp_path / "two.json", lambda i: i % 2 == (1 if i % 40 < 2 else 0))
    for name in ("one", "two"):
        assert command("import", "evermemos", f"{name}.json", "--into", name, "--name", "same").returncode == 0
    done = command(
        "gate", "one", "two", *declare("reader=same", "judge=same", "dataset=same", "protocol=same", "system=same")
    )
    assert done.returncode == 0
    assert "A/A" in done.stdout


def test_an_import_pairs_with_a_run_of_ones_own(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Same ids, clusters and categories: what is left is what the import does not know."""
    monkeypatch.chdir(tmp_path)
    own = cli("+arm=no_memory", "reader=extractive_fake", "judge=lexical_fake", "hydra.run.dir=own",
              "harness.settings.scenarios=12", "harness.settings.questions=3")  # fmt: skip
    assert own.returncode == 0, own.stderr
    recorded = [json.loads(line) for line in (tmp_path / "own" / "rows.jsonl").read_text().splitlines()]
    write_lines(
        tmp_path / "t.jsonl",
        *({"id": r["id"], "label": "yes", "cluster": r["cluster"], "category": r["category"]} for r in recorded),
    )
    (tmp_path / "map.yaml").write_text("{id: id, label: label, cluster: cluster, category: category}\n")
    done = command(
        "import", "table", "t.jsonl", "--map", "map.yaml", "--harness", "synthetic_memory", "--into", "theirs"
    )
    assert done.returncode == 0, done.stderr
    found = command("gate", "own", "theirs", *declare(*DECLARED), "--json")
    (compared,) = json.loads(found.stdout)["groups"][0]["comparisons"]
    assert found.returncode == 5
    assert "fake provider" in compared["reason"]  # everything else compares
    assert compared["verdict"]["n"] == sum(r["category"] != "7" for r in recorded)
    assert compared["verdict"]["clusters"] == 12
    assert "dataset.sha256" in compared["declared_same"]
    assert next(iter(compared["treatment"])) == "arm.system"


def test_several_providers_make_several_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        {
            "provider": {"id": provider}, "promptId": "p", "testIdx": i, "vars": {"id": f"q{i}"}, "success": i < n,
            "response": {"output": "x"}, "gradingResult": {"pass": i < n, "reason": "r"},
        }
        for provider, n in (("python:a.py", 2), ("python:b.py", 3))
        for i in range(4)
    ]  # fmt: skip
    write_json(tmp_path / "results.json", {"results": {"version": 3, "results": rows}})
    done = command("import", "promptfoo", "results.json", "--into", "both")
    assert done.returncode == 0, done.stderr
    assert [run.name for run in runs_in(tmp_path / "both")] == ["0-results-python-a.py", "1-results-python-b.py"]
    assert "compare them: python -m runner gate both/0-results-python-a.py both/1-results-python-b.py" in done.stdout
    assert command("report", "both/1-results-python-b.py").returncode == 0
    assert (
        command("gate", "both", *declare(*DECLARED, "judge.model=same")).returncode == 4
    )  # four questions decide nothing


GOOD = {"question_id": "q0", "hypothesis": "h", "label": "yes"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), "formats: evermemos, inspect_ai, locomo_audit, longmemeval, mem0, memorybench, promptfoo, table"),
        (("longmemevl", "f.json"), "there is no 'longmemevl' (did you mean 'longmemeval'?)"),
        (("../x", "f.json"), "there is no '../x'"),
        (("_files", "f.json"), "there is no '_files'"),
        (("longmemeval",), "takes a format and its files"),
        (("longmemeval", "none.json"), "cannot be read"),
        (("longmemeval", "f.json", "--nmae", "x"), "--nmae: no such flag (did you mean '--name'?)"),
        (("longmemeval", "f.json", "--map", "x"), "--map: no such flag"),
        (("longmemeval", "f.json", "--name"), "--name needs a value"),
        (("longmemeval", "f.json", "--name", "--into"), "--name needs a value"),
        (("longmemeval", "f.json", "--name", "a b"), "--name: give letters"),
        (("longmemeval", "f.json", "--name", "a", "--name", "b"), "--name was given twice"),
        (("longmemeval", "f.json", "--harness", "Not/One"), "--harness: give the name"),
        (("longmemeval", "f.json", "--expect", "many"), "--expect many: give a number"),
        (("longmemeval", "f.json", "--expect", "2"), "1 questions, and --expect says 2"),
        (("longmemeval", "f.json", "--patches", "none.json"), "cannot read the gold patch"),
        (("longmemeval", "f.json", "--harness", "imported", "--dataset", "f.json"), "there is no harness 'imported'"),
        (("longmemeval", "f.json", "--into", "taken"), "is there already and not empty"),
        (("longmemeval", "f.json", "--into", "f.json"), "is there already and not empty"),
        (("longmemeval", "f.json", "--config-dir", "none"), "no such folder"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_json(tmp_path / "f.json", [GOOD])
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine.txt").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    done = command("import", *words)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert expected in line
    assert sorted(tmp_path.rglob("*")) == before


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arms = [bring("longmemeval", write_json(tmp_path / "f.json", [GOOD]))]
    (tmp_path / "there").mkdir()

    def full(*_: Any) -> None:
        raise RecordError("no room")

    monkeypatch.setattr(write, "summarise", full)
    for target, stays in ((tmp_path / "new" / "deep" / "run", False), (tmp_path / "there", True)):
        with pytest.raises(RecordError, match="no room"):
            write.write(arms, target)
        assert target.exists() == stays
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f.json", "there"]
    assert not list((tmp_path / "there").iterdir())


def test_a_format_of_ones_own(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "mine" / "imports"
    folder.mkdir(parents=True)
    (folder / "ours.py").write_text(
        "from runner.imports import Format, Given, Results\n"
        "class Ours(Format):\n"
        "    name = 'ours'\n"
        "    def read(self, files):\n"
        "        words = files[0].path.read_text().split()\n"
        "        return [Results([Given(id=word, label='CORRECT', said='so') for word in words])]\n"
        "FORMAT = Ours\n"
    )
    (tmp_path / "f.txt").write_text("a b c")
    done = cli("import", "ours", "f.txt", "--config-dir", "mine", "--into", "run")
    assert done.returncode == 0, done.stderr
    assert "correct: 3 of 3 (100.0%)" in done.stdout


def test_every_format_and_flag_is_documented() -> None:
    page = (ROOT / "docs" / "imports.md").read_text(encoding="utf-8")
    for name in imports.names():
        assert f"### {name}" in page or name.replace("_", "-") in page, name
        for flag in imports.find(name).Settings.model_fields:
            assert f"--{flag}" in page, flag
    for flag in (*import_._ONCE, *import_._MANY):
        assert f"`{flag} " in page, flag
