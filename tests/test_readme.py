"""README and docs work as written: their files run, their command lines are spelt right, their links lead somewhere."""

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

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in PAGES}
TEXT = TEXTS["README.md"]
TOLD_ELSEWHERE = {"docs/your-own-memory.md", "docs/your-own-benchmark.md"}  # tests of their own run them as they stand
FILES = {
    name: text
    for page in ("README.md", "docs/command-line.md")
    for name, text in re.findall(r"`(mine/[\w/.]+)`:\n\n```\w+\n(.*?)```", TEXTS[page], re.DOTALL)
}


# What a reader fills in; a line that holds such a word is no complete command.
PLACEHOLDER = re.compile(r"\b(DIR|A B|HARNESS|GROUP|BEFORE|NAME|RUN\w*|SWEEP|FILE)\b|…|^\[VERB")


def blocks(page: str) -> list[str]:
    return re.findall(r"```\w*\n(.*?)```", TEXTS[page], re.DOTALL)


def commands() -> list[list[str]]:
    """Every complete `python -m runner` line of a block: what stands behind a run of spaces or a `#` is a comment."""
    found: dict[str, list[str]] = {}
    for page in TEXTS.keys() - TOLD_ELSEWHERE:
        for line in re.sub(r"\\\n\s*", " ", "".join(blocks(page))).splitlines():
            match = re.search(r"-m runner (.*)", line)
            if match and not PLACEHOLDER.search(match[1]):
                words = shlex.split(re.split(r"\s{3,}| +#", match[1])[0])
                found[" ".join(words)] = words
    return [found[line] for line in sorted(found)]


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


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as the usual renderers make them."""
    plain = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    heads = [
        re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in re.findall(r"^#+ (.*)$", plain, re.MULTILINE)
    ]
    return set(heads)


@pytest.mark.parametrize("page", TEXTS)
def test_every_link_leads_somewhere(page: str) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", TEXTS[page], flags=re.DOTALL))
    for link in links:
        if link.startswith("https://"):
            continue
        place, _, anchor = link.partition("#")
        target = (ROOT / page).parent / place if place else ROOT / page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target.read_text(encoding="utf-8")), link


def test_every_page_stands_in_the_index() -> None:
    listed = set(re.findall(r"\]\(([\w-]+\.md)\)", TEXTS["docs/README.md"]))
    assert listed == {Path(page).name for page in TEXTS if page.startswith("docs/")} - {"README.md"}


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
    block = next(block for block in blocks("docs/benchmarks.md") if block.startswith("query,keys"))
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
def test_recorded_runs_from_python(
    cli: Cli, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    done = cli("-m", "+arm=no_memory,oracle", "harness.settings.scenarios=40", "harness.settings.questions=2")
    assert done.returncode == 0, done.stderr
    a, b = runs_in(tmp_path)
    code = next(block for block in blocks("docs/python.md") if "from runner.gate import compare" in block)
    sweep = "outputs/2026-11-30/093512-123456"
    code = code.replace(f"{sweep}/0-arms_off", str(a)).replace(f"{sweep}/1-arms_on", str(b))
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "docs/python.md", "exec"), {})
    assert "PASS" in capsys.readouterr().out
    assert json.loads((tmp_path / "pair.json").read_text())["outcome"] == "pass"


def test_exit_codes_are_those_of_the_program() -> None:
    from runner.cli import HELP

    for code, word in (("0", "passed"), ("1", "incomplete"), ("3", "failed"), ("4", "unresolved"), ("5", "refused")):
        assert re.search(rf"\| {code} \| .*{word}", TEXT)
        assert re.search(rf"{code} .*{word}", HELP)


@pytest.mark.long
def test_a_setting_of_ones_own_is_swept(cli: Cli, tmp_path: Path) -> None:
    """The second block of Python of the section, pasted into the system, with the arm's line and the command."""
    block = next(b for b in blocks("docs/your-own-memory.md") if "class Settings(Strict)" in b)
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
