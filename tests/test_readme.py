"""The README works as written: its own memory system runs, its command lines are spelt right, its Python runs."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from runner.cli import VERBS
from runner.cli._words import overrides, shorthand
from tests.conftest import ROOT, runs_in

Cli = Callable[..., "subprocess.CompletedProcess[str]"]

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"`(mine/[\w/.]+)`:\n\n```\w+\n(.*?)```", TEXT, re.DOTALL))
BLOCKS = re.findall(r"```\w*\n(.*?)```", TEXT, re.DOTALL)
LINES = [line for block in BLOCKS for line in block.splitlines()]


def commands() -> list[list[str]]:
    """Every complete `python -m runner` line: what stands behind a run of spaces or a `#` is a comment."""
    found = []
    for line in LINES:
        match = re.search(r"-m runner (.*)", line)
        if match and not re.search(r"\b(DIR|A B|HARNESS|GROUP|BEFORE)\b|…", match[1]):
            words = shlex.split(re.split(r"\s{2,}| #", match[1])[0])
            found.append(words)
    return found


def test_there_is_something_to_test() -> None:
    assert set(FILES) == {"mine/system/notebook.py", "mine/arm/notebook.yaml", "mine/experiment/ranking.yaml"}
    assert len(commands()) >= 12


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_line_is_spelt_right(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mine", "bench"):
        (tmp_path / name / "arm").mkdir(parents=True)
    stated = FILES["mine/arm/notebook.yaml"] + "settings: {stem: false}\n"
    (tmp_path / "mine/arm/notebook.yaml").write_text(stated)
    (tmp_path / "mine/experiment").mkdir()
    (tmp_path / "mine/experiment/ranking.yaml").write_text(FILES["mine/experiment/ranking.yaml"])
    for name in ("ranking_old", "ranking_new"):
        (tmp_path / f"bench/arm/{name}.yaml").write_text(f"name: {name}\nsystem: bm25\n")
    monkeypatch.chdir(tmp_path)
    verb = words[0] if words[0] in VERBS else ""
    if verb == "data":
        words = ["+arm=no_memory", f"harness={words[2]}", *words[3:]]
    elif verb == "plan":
        words = words[1:]
    elif verb:
        return
    overrides.checked(shorthand.written_out(words), VERBS)


def test_ones_own_memory(cli: Cli, tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    done = cli("-m", "+arm=bm25,notebook", "--config-dir", "mine")
    assert done.returncode in (0, 3, 4), done.stderr
    assert [run.name for run in runs_in(tmp_path / "outputs")] == ["0-bm25", "1-notebook"]
    assert " 0 ok" not in done.stdout
    assert "errors, in no denominator" not in done.stdout


@pytest.mark.long
def test_ones_own_experiment(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "mine/experiment/ranking.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(FILES["mine/experiment/ranking.yaml"])
    done = cli("+experiment=ranking", "harness.settings.questions=1", "--config-dir", "mine")
    assert done.returncode == 0, done.stderr
    runs = runs_in(tmp_path / "outputs")
    assert [run.name for run in runs] == ["0-bm25", "1-oracle"]
    config = yaml.safe_load((runs[0] / "config.yaml").read_text())
    assert config["harness"]["settings"]["scenarios"] == 42
    assert (config["budget"]["name"], config["arm"]["recall"]["limit"]) == ("top8", 8)


@pytest.mark.long
def test_ones_own_labels(cli: Cli, tmp_path: Path) -> None:
    block = next(block for block in BLOCKS if block.startswith("query,keys"))
    csv, lines, memories = block.split("\n\n")
    (tmp_path / "labels.csv").write_text(csv)
    (tmp_path / "labels.jsonl").write_text(lines)
    (tmp_path / "memories.jsonl").write_text(memories)
    for name in ("labels.csv", "labels.jsonl"):
        words = ("harness.dataset.path=" + name, "harness.settings.corpus=memories.jsonl")
        done = cli("data", "check", "retrieval_recall", *words)
        assert done.returncode == 0, done.stderr
        assert "questions 2, groups that move together 2, labelled keys 3" in done.stdout
        assert "questions by category: where 1, who 1" in done.stdout
    assert cli("+arm=bm25", "harness=retrieval_recall", *words, "hydra.run.dir=run").returncode == 0
    group = json.loads((tmp_path / "run/summary.json").read_text())["groups"]["overall_comparable"]
    assert {"rank@1", "precision@10", "recall@1", "mrr"} <= set(group)


@pytest.mark.long
def test_python_of_the_readme(cli: Cli, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = cli("-m", "+arm=no_memory,oracle", "harness.settings.scenarios=40", "harness.settings.questions=2")
    assert done.returncode == 0, done.stderr
    a, b = runs_in(tmp_path)
    code = next(block for block in BLOCKS if "from runner.gate import compare" in block)
    code = code.replace("outputs/…/0-arms_off", str(a)).replace("outputs/…/1-arms_on", str(b))
    exec(compile(code, "README.md", "exec"), {})
    assert "pass" in capsys.readouterr().out


def test_exit_codes_are_those_of_the_program() -> None:
    from runner.cli import HELP

    for code, word in (("0", "passed"), ("1", "incomplete"), ("3", "failed"), ("4", "unresolved"), ("5", "refused")):
        assert re.search(rf"\| {code} \| .*{word}", TEXT)
        assert re.search(rf"{code} .*{word}", HELP)


@pytest.mark.long
def test_a_setting_of_ones_own_is_swept(cli: Cli, tmp_path: Path) -> None:
    """The second block of Python of the section, pasted into the system, with the arm's line and the command."""
    block = next(b for b in BLOCKS if "class Settings(Strict)" in b)
    head, _, tail = block.partition("class Notebook(EmbeddedSystem):")
    text = FILES["mine/system/notebook.py"].replace('"""A memory', "", 0)
    text = text.replace("class Notebook(EmbeddedSystem):", f"{head}\n\nclass Notebook(EmbeddedSystem):{tail}")
    for name, content in (
        ("system/notebook.py", text),
        ("arm/notebook.yaml", FILES["mine/arm/notebook.yaml"] + "settings: {stem: false}\n"),
    ):
        (tmp_path / "mine" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "mine" / name).write_text(content)
    done = cli("-m", "+arm=notebook", "arm.settings.stem=false,true", "--config-dir", "mine")
    assert done.returncode == 5, done.stderr  # nothing reads the setting yet: both arms retrieve the same
    assert "vacuous" in done.stdout
    assert "bundle" not in done.stdout
