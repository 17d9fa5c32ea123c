"""Memories that answer by themselves, rules of the benchmark, corpora that are there already: a run of each."""

from __future__ import annotations

import asyncio
import dataclasses
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from runner.analysis.summary import summarise
from runner.config import load
from runner.errors import ConfigError, Stopped
from runner.experiment.execute import execute
from runner.experiment.prepare import PreparedExperiment, _require_grading, prepare
from runner.record.rundir import RunDir
from runner.system import Capabilities
from runner.types import OK, READER_ERROR, Answer, Hit, Retrieval, Row
from tests.support.answering_systems import ALL, EVENTS, FAILS, Answerer, Tiny
from tests.support.servers import Stub


class Silent:
    def begin(self, total: int, done: int) -> None: ...
    def row(self, row: object, usd: float) -> None: ...
    def note(self, text: str) -> None: ...
    def end(self) -> None: ...


def ready(system: Answerer, harness: Tiny, url: str | None = None, **run: Any) -> PreparedExperiment:
    """A run of the tiny benchmark whose memory answers; graded by rule, or by a judge at ``url``."""
    judge = {"name": "rule", "provider": "rule"}
    if url:
        judge = {"name": "j", "provider": "openai", "model": "gpt-4.1", "base_url": url, "rubric": "locomo_lenient"}
    experiment = load(
        {
            "harness": {"name": "synthetic_memory", "settings": {"scenarios": 2}},
            "arm": {"name": "answerer", "system": "none"},
            "reader": {"name": "ask", "provider": "ask"},
            "judge": judge,
            "run": run,
        }
    )
    fake = {"provider": "fake", "model": "lexical", "rubric": "locomo_lenient"}
    reader = {"provider": "fake", "model": "extractive", "prompt": "locomo_qa"}
    plain = {
        "reader": experiment.reader.model_copy(update=reader),
        "judge": experiment.judge.model_copy(update=fake),
        "run": type(experiment.run)(),
    }
    base = prepare(experiment.model_copy(update=plain))  # the built-in benchmark, which the tiny one replaces
    judge_of = base.judge if url else None
    return dataclasses.replace(
        base, experiment=experiment, harness=harness, system=system, judge=judge_of, reader=None,
        census=harness.census(ALL),
        dataset=harness.dataset(),
    )  # fmt: skip


def run_of(path: Path, about: PreparedExperiment) -> RunDir:
    run = RunDir(path)
    run.create(about.experiment.model_dump(mode="json"))
    return run


def ran(path: Path, about: PreparedExperiment) -> list[Row]:
    run = run_of(path, about)
    execute(run, about, Silent(), cache_dir=None)
    return list(rows_of(run).values())


def rows_of(run: RunDir) -> dict[str, Row]:
    return {row.id: row for row in run.rows()}


def test_a_memory_answers_and_a_rule_grades(tmp_path: Path) -> None:
    system = Answerer({"What colour is the boat?": ["blue"]})
    about = ready(system, Tiny())
    run = run_of(tmp_path / "run", about)
    assert execute(run, about, Silent(), cache_dir=None).state == "complete"
    rows = rows_of(run)
    assert {name: row.label for name, row in rows.items()} == {"t/0": "CORRECT", "t/1": "WRONG", "t/2": "CORRECT"}
    assert rows["t/0"].metrics["recall@10"] == 1.0
    assert rows["t/1"].metrics["recall@10"] is None
    assert rows["t/0"].hits == 3
    assert rows["t/0"].models == ("own-model",)
    assert rows["t/0"].usage["ask"].usd == pytest.approx(0.001)
    assert [name for name, _ in system.calls].count("ask") == 3
    assert "search" not in {name for name, _ in system.calls}
    assert {query.text for query in system.queries} >= {"Where are the bees? (say where)"}, "with its choices"
    texts = {item.id: item for item in run.texts()}
    assert texts["t/1"].answers == ("blue",)
    assert texts["t/1"].rule == "substring"
    assert texts["t/1"].reasons == ("by substring",)
    assert [passage.id for passage in texts["t/0"].evidence] == ["e1"], "as labelled"
    assert [passage.id for passage in texts["t/1"].evidence] == ["e2"], "where the words of the answer stand"
    assert texts["t/0"].stored == ("e1",)
    assert texts["t/1"].stored == ()
    told = run.instrument()
    assert told.rows["reader.model"] == "ask:ask"
    assert told.rows["judge.rubric"] == "rule:substring"
    summary = summarise(run, told)
    assert summary.usage["ask"].calls == 3
    assert summary.groups["season: spring"]["accuracy"] == 1.0
    assert summary.groups["season: autumn"]["accuracy"] == 0.0
    assert summary.identical_share is UNSET


def test_repeats_ask_again_and_tell_whether_they_read_the_same(tmp_path: Path) -> None:
    system = Answerer({"Where are the bees?": ["in the old orchard", "nowhere", "the old orchard"]}, hits="turning")
    about = ready(system, Tiny(), repeats=3)
    run = run_of(tmp_path / "run", about)
    execute(run, about, Silent(), cache_dir=None)
    row = rows_of(run)["t/0"]
    assert row.labels == ("CORRECT", "WRONG", "CORRECT")
    assert row.label == "CORRECT"
    assert len(set(row.repeat_keys)) == 3
    assert row.keys == row.repeat_keys[0]
    assert summarise(run, run.instrument()).identical_share == 0.0


def test_a_memory_that_does_not_say_what_it_read_is_not_measured(tmp_path: Path) -> None:
    about = ready(Answerer(hits=None), Tiny())
    run = run_of(tmp_path / "run", about)
    execute(run, about, Silent(), cache_dir=None)
    row = rows_of(run)["t/0"]
    assert row.metrics["recall@10"] is None
    assert (row.label, row.keys, row.hits) == ("CORRECT", "", 0)


def test_a_failed_ask_is_no_wrong_answer(tmp_path: Path) -> None:
    system = Answerer(
        {
            "Where are the bees?": [FAILS],
            "What colour is the boat?": ["  "],
            "When was it sold?": [FAILS, "2019", "2019"],
        }
    )
    about = ready(system, Tiny(), repeats=3)
    run = run_of(tmp_path / "run", about)
    execute(run, about, Silent(), cache_dir=None)
    rows = rows_of(run)
    assert rows["t/0"].status == READER_ERROR
    assert "the memory is down" in rows["t/0"].error
    assert rows["t/1"].status == READER_ERROR
    assert "empty answer" in rows["t/1"].error
    assert (rows["t/2"].status, rows["t/2"].label) == (OK, "CORRECT")
    assert rows["t/2"].labels == (READER_ERROR, "CORRECT", "CORRECT")


def test_an_answer_that_is_paid_is_not_asked_for_again(tmp_path: Path) -> None:
    """The budget ends the run between two asks; what was answered before is in the journal."""
    system = Answerer()
    about = ready(system, Tiny(), repeats=2, max_calls=3, concurrency=1)
    run = run_of(tmp_path / "run", about)
    with pytest.raises(Stopped, match="max_calls"):
        execute(run, about, Silent(), cache_dir=None)
    assert sum(system.asked.values()) == 3
    again = Answerer()
    unbounded = about.experiment.run.model_copy(update={"max_calls": None})
    more = dataclasses.replace(about, system=again, experiment=about.experiment.model_copy(update={"run": unbounded}))
    assert execute(run, more, Silent(), cache_dir=None).state == "complete"
    assert sum(again.asked.values()) == 3
    assert {row.label for row in run.rows()} == {"CORRECT"}


def test_a_system_that_does_not_answer_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    about = ready(Answerer(capabilities=Capabilities()), Tiny())
    run = run_of(tmp_path / "run", about)
    with pytest.raises(ConfigError, match=r"reader=ask: arm 'answerer' .* does not answer by itself"):
        execute(run, about, Silent(), cache_dir=None)
    assert about.system.calls == []


def test_a_judge_or_a_rule_whichever_the_slice_wants() -> None:
    about = ready(Answerer(), Tiny())
    judged = Tiny(judged=True)
    with pytest.raises(ConfigError, match=r"judge=rule: 1 of 3 questions .* have no rule"):
        _require_grading(about.experiment, judged, judged.census(ALL))
    model = about.experiment.judge.model_copy(update={"name": "gpt-4.1", "provider": "openai"})
    asked = about.experiment.model_copy(update={"judge": model})
    with pytest.raises(ConfigError, match=r"judge=gpt-4.1: would never be asked, .* \(substring\); say judge=rule"):
        _require_grading(asked, Tiny(), Tiny().census(ALL))
    _require_grading(asked, judged, judged.census(ALL))
    assert judged.census(ALL).gradings == 1


def test_an_existing_corpus_is_searched_and_nothing_else(tmp_path: Path) -> None:
    system = Answerer()
    about = ready(system, Tiny(existing="team memory"))
    run = run_of(tmp_path / "run", about)
    assert execute(run, about, Silent(), cache_dir=None).state == "complete"
    assert {name for name, _ in system.calls} == {"ask"}
    assert {ns for _, ns in system.calls} == {"team memory"}
    assert all("existing_corpus" in row.flags for row in run.rows())
    assert {row.status for row in run.rows()} == {OK}, "hits may cite what the benchmark has not written"
    refused = ready(Answerer(capabilities=Capabilities(answers=True)), Tiny(existing="team memory"))
    with pytest.raises(ConfigError, match="keeps nothing beyond a run, so there is no corpus 'team memory'"):
        execute(run_of(tmp_path / "no", refused), refused, Silent(), cache_dir=None)


@pytest.mark.parametrize("step", ["search", "fails"])
def test_an_existing_corpus_is_left_alone_whatever_happens(tmp_path: Path, step: str) -> None:
    system = Answerer(
        {text: [FAILS] for text in ("Where are the bees?", "When was it sold?")} if step == "fails" else {}
    )
    about = ready(system, Tiny(existing="team memory"))
    if step == "search":
        none = about.experiment.reader.model_copy(update={"name": "none", "provider": "none"})
        about = dataclasses.replace(
            about,
            experiment=about.experiment.model_copy(
                update={"reader": none, "judge": about.experiment.judge.model_copy(update={"provider": "none"})}
            ),
        )
    run = run_of(tmp_path / "run", about)
    execute(run, about, Silent(), cache_dir=None)
    assert {name for name, _ in system.calls} == {"search" if step == "search" else "ask"}


def replies(body: dict[str, Any]) -> str:
    """A judge that finds everything right, and a simplifier that keeps the last word of an answer."""
    text = "\n".join(message["content"] for message in body["messages"])
    if "You cut an answer" in text:
        return re.findall(r"<answer>\s*(.*?)\s*</answer>", text, re.DOTALL)[-1].split()[-1]
    return '{"label": "CORRECT", "reason": "fine"}'


def test_lexical_scores_of_a_simplified_answer(tmp_path: Path) -> None:
    with Stub(answer=replies) as server:
        system = Answerer({"What colour is the boat?": ["The boat that he paints is red"]})
        about = ready(system, Tiny(judged=True), server.url, lexical="judge")
        experiment = about.experiment
        about = dataclasses.replace(about, simplifier=type_of_simplifier(experiment))
        run = run_of(tmp_path / "run", about)
        execute(run, about, Silent(), cache_dir=None)
    row = rows_of(run)["t/1"]
    assert row.metrics["simplified_f1"] == 1.0
    assert row.metrics["simplified_rouge_l"] == 1.0
    assert row.usage["simplify"].calls == 1
    assert "simplify" in summarise(run, run.instrument()).usage
    assert run.instrument().rows["lexical"].startswith("openai:gpt-4.1 ")


def type_of_simplifier(experiment):
    from runner.experiment.lexical_answers import Simplifier

    return Simplifier.of(experiment)


def test_lexical_scores_by_a_rule_of_words_say_so(tmp_path: Path) -> None:
    about = ready(Answerer({"What colour is the boat?": ["The answer is red."]}), Tiny(), lexical="heuristic")
    about = dataclasses.replace(about, simplifier=type_of_simplifier(about.experiment))
    run = run_of(tmp_path / "run", about)
    execute(run, about, Silent(), cache_dir=None)
    row = rows_of(run)["t/1"]
    assert row.metrics["heuristic_f1"] == 1.0
    assert "simplify" not in row.usage
    assert run.instrument().rows["lexical"] == "heuristic"
    assert all(value is None for name, value in row.metrics.items() if name.startswith("simplified"))


@pytest.mark.parametrize(
    ("lexical", "judge", "says"),
    [
        ("judge", {"name": "lexical_fake", "provider": "fake", "model": "lexical"}, "say run.lexical=heuristic"),
        ("judge", {"name": "rule", "provider": "rule"}, "say run.lexical=heuristic"),
        ("gpt-4o-mini", {"name": "sonnet", "provider": "command", "command": ["x"]}, "is a command"),
    ],
)
def test_a_simplifier_that_there_is_not(lexical: str, judge: dict[str, Any], says: str) -> None:
    experiment = load(
        {
            "harness": {"name": "synthetic_memory"},
            "arm": {"name": "a", "system": "none"},
            "reader": {"name": "ask", "provider": "ask"},
            "judge": judge,
            "run": {"lexical": lexical},
        }
    )
    with pytest.raises(ConfigError, match=says):
        type_of_simplifier(experiment)


def test_evidence_is_recorded_without_a_copy_of_the_history(tmp_path: Path) -> None:
    about = ready(Answerer(), Tiny())
    run = run_of(tmp_path / "run", about)
    execute(run, about, Silent(), cache_dir=None)
    recorded = msgspec.json.encode(list(run.texts())).decode()
    assert recorded.count(EVENTS[0].text) <= 3 + 1  # in the hits of three questions, and as evidence of one


class Blind(Answerer):
    """Names no events; finds nothing for one question."""

    async def search(self, ns, query):
        found = await super().search(ns, query)
        hits = tuple(Hit(key=hit.key, text=hit.text) for hit in found.hits)
        return Retrieval(hits=() if query.text == "Where are the bees?" else hits)


def recalled(about: PreparedExperiment) -> PreparedExperiment:
    none = {"name": "none", "provider": "none"}
    changes = {name: getattr(about.experiment, name).model_copy(update=none) for name in ("reader", "judge")}
    return dataclasses.replace(about, experiment=about.experiment.model_copy(update=changes))


@pytest.mark.parametrize(("sources", "recall"), [(False, None), (True, 0.0)])
def test_nothing_found_is_a_miss_only_of_a_memory_that_names_its_events(
    tmp_path: Path, sources: bool, recall: float | None
) -> None:
    system = Blind(capabilities=Capabilities(sources=sources))
    about = recalled(ready(system, Tiny()))
    run = run_of(tmp_path / "run", about)
    execute(run, about, Silent(), cache_dir=None)
    rows = rows_of(run)
    assert rows["t/0"].metrics["recall@10"] is recall or rows["t/0"].metrics["recall@10"] == recall
    assert "sources_untold" not in rows["t/0"].flags
    assert "sources_untold" in rows["t/1"].flags, "hits without sources are told, whatever was declared"


def test_a_benchmark_whose_prompt_says_what_to_do_is_not_asked_of_a_memory(tmp_path: Path) -> None:
    from tests.support.harness_samples import SAMPLES

    sample = SAMPLES["dialogue_consistency"](tmp_path)
    experiment = load(
        {
            "harness": sample.config.model_dump(),
            "arm": {"name": "a", "system": "none"},
            "reader": {"name": "ask", "provider": "ask"},
            "judge": {"name": "rule", "provider": "rule"},
        }
    )
    with pytest.raises(ConfigError, match="stands in a prompt that no memory is given; choose a reader"):
        prepare(experiment)


class Forgets(Answerer):
    """Answers from what it was told since its last reset, and has no source of truth."""

    async def reset(self, ns: str) -> None:
        self.told = ()

    async def write(self, ns, events):
        self.told = tuple(event.text for event in events)
        return await super().write(ns, events)

    async def ask(self, ns, query):
        return Answer(text=" ".join(self.told) or "I do not know that.")


def test_a_memory_that_lost_everything_does_not_answer_from_it(tmp_path: Path) -> None:
    class Dropping(Tiny):
        def read(self):
            for scenario in super().read():
                yield msgspec.structs.replace(scenario, drop_derived=True)

    rows = ran(tmp_path / "run", ready(Forgets(), Dropping()))
    assert [row.label for row in rows] == ["WRONG"] * 3
    rows = ran(tmp_path / "kept", ready(Forgets(), Tiny()))
    assert "CORRECT" in [row.label for row in rows]


def test_a_memory_that_does_not_say_what_it_holds_is_asked_once(tmp_path: Path) -> None:
    class Slow(Answerer):
        waited = 0

        async def holds(self, ns, events):
            Slow.waited += 1
            await asyncio.sleep(60)

    rows = ran(tmp_path / "run", ready(Slow(), Tiny(), search_s=0.2, concurrency=1))
    assert [row.status for row in rows] == [OK] * 3
    assert Slow.waited == 1
