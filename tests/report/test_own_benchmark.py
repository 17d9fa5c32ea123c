"""A benchmark of one's own: its headline is the first column, and it brings a section to the report."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from runner import harness as harnesses
from runner.cli import main
from tests.conftest import runs_in

Cli = Callable[..., "subprocess.CompletedProcess[str]"]

CODE = """
from pathlib import Path

from runner.harness import DatasetInfo, Harness, Line, Table
from runner.score.retrieval import profile, profile_metrics, ranked_sources
from runner.types import Event, Gold, Metric, Question, Scenario

Path(__file__).with_name("imported").touch()


class Gates(Harness):
    name = "gates"
    categories = {"all": "all"}
    comparable = frozenset({"all"})
    cluster = "site"
    metrics = (*profile_metrics(), Metric("steps", unit="steps", digits=1), Metric("opened", share=True))

    def dataset(self):
        return DatasetInfo(name="gates", version="1", sha256="0" * 64, pinned=True)

    def read(self):
        for name in ("harbour", "mill"):
            events = tuple(Event(id=f"{name}-{n}", text=f"The {name} gate number {n} is shut.") for n in range(3))
            asked = Question(id=f"{name}/0", text=f"Is {name} gate 1 shut?", category="all",
                             gold=Gold(answers=("yes",), evidence=(events[1].id,)))
            yield Scenario(id=name, cluster=name, events=events, questions=(asked,))

    def headline(self, axis):
        return "opened"

    def score_retrieval(self, question, hits):
        found = profile(ranked_sources(hits), question.gold.evidence, self.config.k)
        return found | {"steps": float(len(hits)), "opened": float(question.id == "mill/0")}

    @classmethod
    def report_figures(cls, run):
        return {"sites": sorted(row.cluster for row in run.rows())}

    @classmethod
    def report_section(cls, arms):
        rows = [(name, *found["sites"]) for name, found in arms]
        return [Line("gates that were seen", "bold"), Table(("arm", "one", "two"), rows)]


HARNESS = Gates
"""
SECTION = ["gates that were seen", "arm  one  two", "bm25 harbour mill"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    mine = tmp_path / "mine" / "harness"
    mine.mkdir(parents=True)
    (mine / "gates.py").write_text(CODE)
    (mine / "gates.yaml").write_text("name: gates\ndataset: {path: null}\npatches: []\nk: 2\nsettings: {}\n")
    return tmp_path


def shown(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_its_headline_and_its_section(
    cli: Cli, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    done = cli("harness=gates", "+arm=bm25", "--config-dir", "mine")
    assert done.returncode == 0, done.stderr
    table = shown(done.stdout)
    (head,) = (line for line in table if line[:2] == ["questions", "of"])
    assert head[2:6] == ["n", "scored", "errors", "opened"]
    assert {"recall@2", "mrr", "steps"} < set(head)
    (line,) = (line for line in table if line[0:1] == ["overall_comparable"])
    assert line[3] == "0.500"
    assert line[-1] == "3.0", "in the digits that it declares"
    for words in SECTION:
        assert words.split() in table
    (run,) = runs_in(folder / "outputs")
    declared = json.loads((run / "instrument.json").read_text())["harness"]["metrics"]
    assert {"name": "opened", "share": True} in declared

    # A record names a benchmark, and never says which code is run.
    (folder / "mine" / "harness" / "imported").unlink()
    assert main(["report", str(run)]) == 0
    plain = capsys.readouterr().out
    assert head in shown(plain)
    assert "gates that were seen" not in plain
    assert not (folder / "mine" / "harness" / "imported").exists()
    with monkeypatch.context() as patch:
        patch.setattr(harnesses, "__path__", [*harnesses.__path__])
        patch.chdir(folder)
        assert main(["report", str(run), "--config-dir", "mine"]) == 0
        assert [words.split() in shown(capsys.readouterr().out) for words in SECTION[:1]] == [True]
        assert main(["report", str(run), "--json", "--config-dir", "mine"]) == 0
        (entry,) = json.loads(capsys.readouterr().out).values()
    assert entry["gates"] == {"sites": ["harbour", "mill"]}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('found["sites"]', 'found["places"]', r"report_section\(\) failed: KeyError: 'places' \(gates.py:"),
        (
            '{"sites": sorted(row.cluster for row in run.rows())}',
            '{"sites": {1}}',
            r"report_figures\(\) failed: TypeEr",
        ),
    ],
)
def test_a_fault_of_its_section_is_one_line(cli: Cli, folder: Path, old: str, new: str, says: str) -> None:
    assert old in CODE
    (folder / "mine" / "harness" / "gates.py").write_text(CODE.replace(old, new))
    done = cli("harness=gates", "+arm=bm25", "--config-dir", "mine")
    assert done.returncode == 0, done.stderr
    assert re.search(rf"^harness 'gates': {says}", done.stdout, re.MULTILINE), done.stdout
    assert "overall_comparable" in done.stdout
