"""A benchmark of one's own that does not keep the contract: told in one line, never a number."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from msgspec.structs import replace

from runner.errors import ConfigError, DatasetError
from runner.experiment.benchmark_guard import BenchmarkGuard
from runner.harness import code_of
from runner.harness._base.classes import class_problems
from runner.types import Label, Metric
from tests.support.answering_systems import ALL, Tiny

Cli = Callable[..., "subprocess.CompletedProcess[str]"]


class Bent(Tiny):
    """The tiny benchmark, its scenario bent by a function."""

    def __init__(self, bend: Callable[[Any], Any]) -> None:
        super().__init__()
        self.bend = bend

    def read(self):
        for scenario in super().read():
            yield self.bend(scenario)


def question(**changes: Any) -> Callable[[Any], Any]:
    return lambda scenario: replace(
        scenario, questions=(replace(scenario.questions[0], **changes), *scenario.questions[1:])
    )


def gold(**changes: Any) -> Callable[[Any], Any]:
    return lambda scenario: question(gold=replace(scenario.questions[0].gold, **changes))(scenario)


@pytest.mark.parametrize(
    ("bend", "says"),
    [
        (question(rule="substr"), "its rule 'substr' is not among the rules of the class (substring)"),
        (question(prompt="mine"), "its prompt 'mine' is not among the prompts of the class (none)"),
        (question(rubric="mine"), "its rubric 'mine' is not among the rubrics of the class (none)"),
        (question(category="wasps"), "its category 'wasps' is none of bees, boats"),
        (question(now="2026-02-01"), "now is a datetime, and not 2026-02-01"),
        (gold(evidence=("e9",)), "its evidence 'e9' is no event of the scenario"),
        (gold(answers="T-1"), "gold.answers is a tuple of texts, and not T-1"),
        (lambda s: replace(s, events=(s.events[0], s.events[0])), "two events have the id 'e1'"),
        (lambda s: replace(s, events=(*s.events, "text")), "events are of type Event, and one is str"),
    ],
)
def test_a_scenario_that_something_relies_on_in_vain(bend: Callable[[Any], Any], says: str) -> None:
    with pytest.raises(DatasetError) as caught:
        Bent(bend).census(ALL)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_events_out_of_time_order() -> None:
    from datetime import datetime

    def bend(scenario):
        late, early = datetime(2026, 2, 1), datetime(2026, 1, 1)
        first, second, *rest = scenario.events
        return replace(scenario, events=(replace(first, time=late), replace(second, time=early), *rest))

    with pytest.raises(DatasetError, match="events come in time order, and 'e2' is before the one above it"):
        Bent(bend).census(ALL)


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ({"recall@10": 8.0}, r"gave recall@10 = 8.0; a metric is a share from 0 to 1, or None"),
        ({"recall@10": True}, r"gave recall@10 = True"),
        ({"length": float("nan")}, r"gave length = nan; a metric is a finite number, or None"),
        ({"length": "3"}, r"gave length = 3"),
        (None, r"returns a dict of metrics, and not NoneType"),
    ],
)
def test_metrics_that_no_record_can_hold(told: Any, says: str) -> None:
    harness = Tiny()
    harness.score_retrieval = lambda question, hits: told  # type: ignore[method-assign]
    asked = next(harness.read()).questions[0]
    with pytest.raises(ConfigError, match=says):
        BenchmarkGuard(harness, "recall").retrieval(asked, [])


def test_numbers_of_other_kinds_are_numbers() -> None:
    import numpy as np

    harness = Tiny()
    harness.score_retrieval = lambda question, hits: {"a": np.float32(0.5), "b": 1, "c": None}  # type: ignore[method-assign]
    asked = next(harness.read()).questions[0]
    assert BenchmarkGuard(harness, "recall").retrieval(asked, []) == {"a": 0.5, "b": 1.0, "c": None}


@pytest.mark.parametrize("label", [Label(value="RIGHT"), "CORRECT", None, Label(value="CORRECT", score=2.0)])
def test_a_label_that_there_is_not(label: Any) -> None:
    harness = Tiny()
    harness.grade = lambda question, answer: label  # type: ignore[method-assign]
    asked = next(harness.read()).questions[0]
    with pytest.raises(ConfigError, match=r"grade\(\) on 't/0' (returned|gave the score)"):
        BenchmarkGuard(harness, "accuracy").grade(asked, "x")


def test_an_exception_is_one_line_with_its_place() -> None:
    harness = Tiny()
    harness.grade = lambda question, answer: {}["no"]  # type: ignore[method-assign]
    asked = next(harness.read()).questions[0]
    with pytest.raises(ConfigError, match=r"grade\(\) on 't/0' failed: KeyError: 'no' \(test_own_harness.py:\d+\)"):
        BenchmarkGuard(harness, "accuracy").grade(asked, "x")


def test_a_headline_that_no_row_has() -> None:
    measured = BenchmarkGuard(Tiny(), "recall")
    measured.require_headline({"recall@10": None})
    with pytest.raises(ConfigError, match="gives 'recall@10', its headline on the recall axis"):
        measured.require_headline({"mrr": 1.0})
    BenchmarkGuard(Tiny(), "accuracy").require_headline({})


@pytest.mark.parametrize(
    ("metrics", "says"),
    [
        (("quotes",), "Told.metrics is a tuple of runner.types.Metric"),
        ([Metric("quotes")], "Told.metrics is a tuple of runner.types.Metric"),
        ((Metric("quotes", digits=99),), "Told.metrics cannot be recorded (Expected `int` <= 9"),
        ((Metric("quotes", shown="sometimes"),), "Told.metrics cannot be recorded (Invalid enum value 'sometimes'"),
        ((Metric("quotes"), Metric("quotes", share=True)), "Told.metrics has 'quotes' twice; keep one of them"),
    ],
)
def test_declarations_that_no_record_can_hold(metrics: Any, says: str) -> None:
    (problem,) = class_problems(type("Told", (Tiny,), {"metrics": metrics}), "tiny")
    assert says in problem


def test_a_class_that_lacks_something() -> None:
    class Lacking(Tiny):
        pass

    assert class_problems(Lacking, "tiny") == []
    assert "its file, 'tickets'" in class_problems(Lacking, "tickets")[0]
    for name in ("comparable", "cluster"):
        bare = type("Bare", (object,), {"name": "x", "categories": {}, "comparable": 1, "cluster": "c"})
        delattr(bare, name)
        assert f"has no '{name}'" in class_problems(bare, "x")[0]  # type: ignore[arg-type]


OWN = """
from runner.harness import DatasetInfo, Harness
from runner.types import CORRECT, WRONG, Event, Gold, Label, Question, Scenario


class Tickets(Harness):
    name = "tickets"
    categories = {"1": "all"}
    comparable = frozenset({"1"})
    cluster = "ticket"
    rules = ("number",)

    def read(self):
        for n in range(4):
            event = Event(id="e", text=f"Ticket {n} is about printers.")
            yield Scenario(id=f"t{n}", cluster=f"t{n}", events=(event,), questions=(Question(
                id=f"t{n}/0", text="Which ticket is about printers?", category="1", rule="number",
                gold=Gold(answers=(str(n),), evidence=("e",))),))

    def dataset(self):
        return DatasetInfo(name="tickets", version="1", sha256="0" * 64, pinned=True)

    def score_retrieval(self, question, hits):
        return {"recall@10": float(any(hit.sources for hit in hits))}

    def grade(self, question, answer):
        return Label(value=CORRECT if question.gold.answers[0] in answer else WRONG)

    def check(self):
        return ["tickets 4"]


HARNESS = Tickets
"""


NO_FILE = "there is no file gone.jsonl (looked in {}); check the path, or name another with harness.dataset.path=FILE"


@pytest.mark.parametrize("before", ["    def dataset(self):\n", "    def read(self):\n", "    def check(self):\n"])
def test_a_file_that_is_missing_is_one_line(cli: Cli, tmp_path: Path, before: str) -> None:
    mine = tmp_path / "mine" / "harness"
    mine.mkdir(parents=True)
    (mine / "tickets.py").write_text(
        OWN.replace(before, f'{before}        open("gone.jsonl")\n').replace('["tickets 4"]', "super().check()")
    )
    (mine / "tickets.yaml").write_text("name: tickets\n")
    commands = [("data", "check", "tickets")]
    if "check" not in before:
        commands.append(("harness=tickets", "+arm=bm25"))
    for words in commands:
        done = cli(*words, "--config-dir", "mine")
        assert done.returncode == 2, done.stderr
        assert done.stderr.splitlines() == [f"error: tickets: {NO_FILE.format(tmp_path)}"]


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    def opened(scenario: Any) -> Any:
        tmp_path.open()
        return scenario

    with pytest.raises(DatasetError) as caught:
        Bent(opened).census(ALL)
    assert str(caught.value) == (
        f"tiny: {tmp_path} cannot be opened (Is a directory); make it readable, or give another copy with "
        "harness.dataset.path=FILE"
    )


def test_a_fault_of_the_data_has_the_name_in_front_wherever_it_is_raised(cli: Cli, tmp_path: Path) -> None:
    mine = tmp_path / "mine" / "harness"
    mine.mkdir(parents=True)
    text = OWN.replace("class Tickets", "from runner.errors import DatasetError\n\n\nclass Tickets")
    text = text.replace(
        "    def dataset(self):\n", '    def dataset(self):\n        raise DatasetError("no file is named")\n'
    )
    (mine / "tickets.py").write_text(text)
    (mine / "tickets.yaml").write_text("name: tickets\n")
    for words in (("data", "fetch", "tickets"), ("harness=tickets", "+arm=bm25")):
        done = cli(*words, "--config-dir", "mine")
        assert (done.returncode, done.stderr) == (2, "error: tickets: no file is named\n")


def test_the_place_is_of_the_harness_and_the_traceback_for_the_log(cli: Cli, tmp_path: Path) -> None:
    mine = tmp_path / "mine" / "harness"
    mine.mkdir(parents=True)
    body = '        import json\n        json.loads("{")\n'
    (mine / "tickets.py").write_text(OWN.replace("    def dataset(self):\n", f"    def dataset(self):\n{body}"))
    (mine / "tickets.yaml").write_text("name: tickets\n")
    line = 1 + (mine / "tickets.py").read_text().splitlines().index('        json.loads("{")')
    for words in (("data", "fetch", "tickets"), ("harness=tickets", "+arm=bm25")):
        done = cli(*words, "--config-dir", "mine")
        assert done.returncode == 2
        (said,) = done.stderr.splitlines()
        assert said.startswith("error: harness 'tickets': dataset() failed: JSONDecodeError: ")
        assert said.endswith(f" (tickets.py:{line})")


@pytest.mark.long
def test_its_code_is_part_of_the_instrument(cli: Cli, tmp_path: Path) -> None:
    mine = tmp_path / "mine" / "harness"
    mine.mkdir(parents=True)
    (mine / "tickets.py").write_text(OWN)
    (mine / "tickets.yaml").write_text("name: tickets\n")
    words = ("harness=tickets", "--config-dir", "mine")
    first = cli("+arm=bm25", "hydra.run.dir=a", *words)
    assert first.returncode == 0, first.stderr
    assert '"harness":"tickets@sha256:' in (tmp_path / "a" / "instrument.json").read_text().replace(" ", "")
    (mine / "tickets.py").write_text(OWN.replace("float(any(", "1 - float(any("))
    assert cli("+arm=dense", "hydra.run.dir=b", *words).returncode == 0
    gate = cli("gate", "a", "b")
    assert gate.returncode == 5
    assert "harness: 'tickets@sha256:" in " ".join(gate.stdout.split())
    (mine / "tickets.py").write_text(OWN.replace("in answer else", "in answer.nothing else"))
    broken = cli("+arm=bm25", "reader=extractive_fake", "judge=rule", "hydra.run.dir=c", *words)
    assert broken.returncode == 2
    assert "grade() on 't" in broken.stderr
    assert "AttributeError: 'str' object has no attribute 'nothing' (tickets.py:27)" in broken.stderr
    assert "Traceback" not in broken.stderr


def test_a_method_that_is_not_written() -> None:
    from runner.harness import Harness

    class Bare(Harness):
        name = "bare"
        categories: ClassVar = {"1": "all"}
        comparable = frozenset({"1"})
        cluster = "thing"

    assert class_problems(Bare, "bare") == ["harness 'bare': Bare does not write read(), dataset(), score_retrieval()"]


def test_counts_of_a_benchmark_that_says_no_more() -> None:
    told = Tiny().check()
    assert told[0] == f"tiny 1, sha256 {'0' * 64}, no licence stated"
    assert told[1] == "scenarios 1, events 3, questions 3 in 1 clusters (history)"
    assert told[2] == "questions by category: bees 2, boats 1"


def test_a_shipped_harness_has_no_word_of_code() -> None:
    from runner.config import HarnessConfig
    from runner.harness import build

    assert code_of(build(HarnessConfig(name="synthetic_memory"))) == ""
    assert code_of(Tiny()).startswith("@sha256:")
