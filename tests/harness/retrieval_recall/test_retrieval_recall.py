"""Labels of one's own: how they are read, what is searched, what counts, and that a corpus is left as it is."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from unittest.mock import patch

import pytest

from runner.cli.resume import main as resume
from runner.config import HarnessConfig, SliceConfig, load
from runner.errors import ConfigError, DatasetError, RunnerError
from runner.experiment.execute import execute
from runner.experiment.prepare import prepare
from runner.harness import build
from runner.record.rundir import RunDir
from runner.system import Capabilities, MemorySystem, Opening, Provenance
from runner.system.none import SYSTEM as NoMemory
from runner.types import Hit, Query, Question, Retrieval, Scenario
from tests.conftest import runs_in
from tests.support.harness_samples.retrieval_recall import MEMORIES, labels, relied_on
from tests.support.recording_system import Silent

CORPUS = "\n".join(json.dumps(item) for item in MEMORIES)


def harness(
    folder: Path, text: str, *, corpus: str | None = None, name: str = "labels.csv", k: int = 10, **settings: Any
):
    file = folder / name
    file.write_text(text, encoding="utf-8")
    if corpus is not None:
        (folder / "memories.jsonl").write_text(corpus, encoding="utf-8")
        settings["corpus"] = str(folder / "memories.jsonl")
    return build(HarnessConfig(name="retrieval_recall", k=k, dataset={"path": str(file)}, settings=settings))


def scenarios(built) -> list[Scenario]:
    return list(built.load(SliceConfig()))


def questions(built) -> list[Question]:
    return [question for scenario in scenarios(built) for question in scenario.questions]


# --- reading -------------------------------------------------------------------------------------------------------


def test_csv_over_a_corpus(tmp_path: Path) -> None:
    built = build(labels(tmp_path).config)
    (scenario,) = scenarios(built)
    assert [event.id for event in scenario.events] == ["flour", "bakery_owner", "oven"], "in time order, undated first"
    assert scenario.existing == ""
    bread, oven, again, nothing, lost = scenario.questions
    assert bread.gold.evidence == ("bakery_owner",), "once, without what is empty or not in the corpus"
    assert bread.now == datetime(2026, 5, 2, 8)
    assert bread.cluster == "SECRETGROUP"
    assert (oven.id, oven.gold.evidence) == ("SECRETID", ("oven",))
    assert oven.now == datetime(2026, 5, 2, 6), "a zone is turned into UTC"
    assert again.id == f"{bread.id}-2", "the same words, whatever their case and spaces"
    assert nothing.gold.evidence == lost.gold.evidence == ()
    assert nothing.cluster == nothing.id, "a query stands by itself"
    assert built.categories == {"SECRETCAT": "SECRETCAT", "other": "other"}
    assert built.comparable == {"SECRETCAT", "other"}


def test_relied_on_rows_are_grouped_by_session(tmp_path: Path) -> None:
    built = build(relied_on(tmp_path).config)
    asked = questions(built)
    assert [question.cluster for question in asked] == ["SECRET1", "SECRET1", "SECRET2"]
    assert [question.gold.evidence for question in asked] == [("bakery_owner",), ("oven",), ("flour",)]
    assert asked[0].now == datetime(2026, 5, 2)
    assert built.census(SliceConfig()).clusters == 2
    assert built.categories == {"all": "all"}


def test_ids_do_not_hang_on_the_order_of_rows(tmp_path: Path) -> None:
    one = questions(harness(tmp_path, "query,keys\na,oven\nb,flour\n", corpus=CORPUS))
    other = questions(harness(tmp_path, "query,keys\r\nb,flour\r\na,oven\r\n", corpus=CORPUS))
    assert {q.id: q.text for q in one} == {q.id: q.text for q in other}


def test_cells_may_hold_commas_lines_and_a_mark_of_the_encoding(tmp_path: Path) -> None:
    built = harness(tmp_path, '\ufeffquery,keys\n"one,\ntwo","[""a|b"", 7]"\n\n', namespace="mine")
    (question,) = questions(built)
    assert question.text == "one,\ntwo"
    assert question.gold.evidence == ("a|b", "7")


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("l.csv", "", "l.csv holds no labelled query"),
        ("l.csv", "query,keys\n", "l.csv holds no labelled query"),
        ("l.csv", "a,b\n1,2\n", "line 1: the first line must name the columns, query and keys among them; it has a, b"),
        ("l.csv", "query;keys\na;b\n", "not separated by commas"),
        ("l.csv", "query,keys,kind\na,b,c\n", "line 1: unknown field 'kind'; a row has query, keys,"),
        ("l.csv", "query,keys,keys\na,b,c\n", "column 'keys' stands twice"),
        ("l.csv", "query,category\na,b\n", "line 2: field 'keys' is missing"),
        ("l.csv", "query,keys\na,b\nc\n", "line 3: has 1 cells where the header has 2"),
        ("l.csv", "query,keys\n ,b\n", "line 2: field 'query' is missing"),
        ("l.csv", 'query,keys\n"a\nb",c\n"d,e\n', "line 4: is no CSV"),
        ("l.csv", "query,keys\na,[b]\n", "line 2: a list of keys that begins with [ must be JSON"),
        ("l.csv", "query,keys,used\na,b,c\n", "'keys' and 'used' are one field under two names"),
        ("l.csv", "query,keys,now\na,b,monday\n", "'monday' is no time"),
        ("l.csv", "query,keys,now\na,b,0001-01-01T00:00+14:00\n", "is no time"),
        ("l.csv", "query,keys,id\na,b,x\nc,d,x\n", "line 3: the id 'x' stands in line 2 already"),
        ("l.jsonl", '{"query": "a", "keys": ["b"]}\n{"query": "a", "keys"', "line 2: is no JSON"),
        ("l.jsonl", '{"query": "a", "keys": "b"}', "line 1: keys: expected a list, found text"),
        ("l.jsonl", '{"query": "a", "keys": [{}]}', "line 1: keys: expected text, found an object"),
        ("l.jsonl", '{"query": 5, "keys": []}', "line 1: query: expected text, found a number"),
        ("l.jsonl", '{"query": "a"}', "line 1: field 'keys' is missing"),
        ("l.jsonl", '{"query": "a", "keys": [], "agent": "x"}', "line 1: unknown field 'agent'"),
        ("l.jsonl", '{"query": "a", "keys": ["\\ud800"]}', "half of a character"),
        ("l.jsonl", '{"query": "a", "keys": [], "x": NaN}', "line 1: is no JSON"),
        ("l.jsonl", '{"query": "a", "keys": [], "returned": {}}', "line 1: returned: expected a list, found an object"),
        ("l.jsonl", '{"query": "a", "keys": [], "now": 1717}', "line 1: now: expected text, found a number"),
        ("l.jsonl", '[{"query": "a", "keys": []}]', "l.jsonl is one JSON array; write one object a line"),
        ("l.json", '[\n  {\n    "query": "a"\n  }\n]', "l.json is one JSON array; write one object a line"),
        ("l.json", '\ufeff\n[\t{"query": "a"}]', "l.json is one JSON array; write one object a line"),
        ("l.json", '["a", "b"]', "l.json is one JSON array; write one object a line"),
    ],
)
def test_what_is_not_understood_names_its_line(tmp_path: Path, name: str, text: str, says: str) -> None:
    built = harness(tmp_path, text, name=name, namespace="mine")
    with pytest.raises(DatasetError) as caught:
        built.dataset()
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("corpus", "says"),
    [
        ("", "memories.jsonl holds no memory"),
        ('{"key": "a"}', "line 1: field 'text' is missing"),
        ('{"key": "a", "text": " "}', "line 1: text: the text is empty"),
        ('{"key": "a", "text": "b", "tags": []}', "line 1: unknown field 'tags'; a memory has key, text, time; mend"),
        ('{"key": "a", "text": "b", "time": 1717}', "line 1: time: expected text, found a number"),
        ('[{"key": "a", "text": "b"}]', "memories.jsonl is one JSON array; write one object a line"),
        ('[\n{"key": "a", "text": "b"}\n]', "memories.jsonl is one JSON array; write one object a line"),
        ('{"key": "a", "text": "b"}\n{"key": "a", "text": "c"}', "line 2: the key 'a' stands in line 1 already"),
        ('{"key": "a", "text": "b", "time": "soon"}', "'soon' is no time"),
        ("[1]", "line 1: expected an object, found a list"),
    ],
)
def test_a_corpus_that_is_not_understood(tmp_path: Path, corpus: str, says: str) -> None:
    with pytest.raises(DatasetError) as caught:
        scenarios(harness(tmp_path, "query,keys\na,b\n", corpus=corpus))
    assert says in str(caught.value)


# --- what is searched ----------------------------------------------------------------------------------------------


def test_exactly_one_corpus(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="names a namespace and a corpus; keep one of"):
        harness(tmp_path, "query,keys\na,b\n", corpus=CORPUS, namespace="mine")
    with pytest.raises(ConfigError, match=r"say what is searched: harness\.settings\.namespace=NAME"):
        harness(tmp_path, "query,keys\na,b\n").dataset()
    with pytest.raises(ConfigError, match="line 3 of the labels has no namespace of its own"):
        harness(tmp_path, "query,keys,namespace\na,b,x\nc,d,\n").dataset()
    with pytest.raises(
        DatasetError, match=r"line 2 of the labels names the namespace 'x' beside harness\.settings\.corpus"
    ):
        harness(tmp_path, "query,keys,namespace\na,b,x\n", corpus=CORPUS).dataset()
    with pytest.raises(DatasetError, match=r"takes labels of your own: harness\.dataset\.path=FILE"):
        build(HarnessConfig(name="retrieval_recall", settings={"namespace": "x"})).dataset()
    with pytest.raises(
        DatasetError, match=r"there is no file .*; give a local copy with harness\.settings\.corpus=FILE$"
    ):
        harness(tmp_path, "query,keys\na,b\n").__class__(
            HarnessConfig(
                name="retrieval_recall",
                dataset={"path": str(tmp_path / "labels.csv")},
                settings={"corpus": str(tmp_path / "absent")},
            )
        ).dataset()


def test_namespaces_by_row_and_by_default(tmp_path: Path) -> None:
    built = harness(tmp_path, "query,keys,namespace\na,x,\nb,y,team/two\nc,z,\n", namespace="one")
    found = scenarios(built)
    assert [(s.id, s.existing, s.events, len(s.questions)) for s in found] == [
        ("one", "one", (), 2),
        ("team/two", "team/two", (), 1),
    ]
    assert built.census(SliceConfig()).clusters == 3


def test_identity(tmp_path: Path) -> None:
    built = harness(tmp_path, "query,keys\na,oven\n", corpus=CORPUS)
    first = built.dataset()
    assert first == harness(tmp_path, "query,keys\na,oven\n", corpus=CORPUS).dataset()
    other = harness(tmp_path, "query,keys\na,oven\n", corpus=CORPUS + "\n" + '{"key": "new", "text": "new"}')
    assert other.dataset() != first
    assert other.dataset().sha256 == first.sha256, "the labels are the same"
    assert not built.dataset().pinned
    sha = build(HarnessConfig(**built.config.model_dump())).dataset().sha256
    pinned = {"path": built.config.dataset.path, "sha256": sha}
    settings = {"corpus": built.config.settings["corpus"]}
    assert not build(HarnessConfig(name="retrieval_recall", dataset=pinned, settings=settings)).dataset().pinned
    with pytest.raises(DatasetError, match=r"harness\.settings\.corpus_sha256 pins 0000"):
        build(
            HarnessConfig(name="retrieval_recall", dataset=pinned, settings={**settings, "corpus_sha256": "0" * 64})
        ).dataset()
    assert built.settings.model_dump() == {"namespace": None}, "where a corpus lies is no part of the instrument"


# --- scores --------------------------------------------------------------------------------------------------------


def hit(key: str, *sources: str, cosine: float | None = None) -> Hit:
    return Hit(key=key, text="", sources=sources or None, cosine=cosine)


def test_a_hit_of_a_corpus_that_was_there_counts_by_its_key(tmp_path: Path) -> None:
    built = harness(tmp_path, "query,keys\na,x|y\n", namespace="mine", k=5)
    (question,) = questions(built)
    got = built.score_retrieval(question, [hit("u", "x", cosine=0.2), hit("x", cosine=0.9), hit("v", cosine=0.1)])
    assert (got["recall@5"], got["rank@1"], got["mrr"], got["fraction@5"]) == (1, 0, 0.5, 0.5)
    assert got["precision@5"] == pytest.approx(1 / 3)
    assert got["best_cos_rank"] == 2
    assert built.score_retrieval(question, [])["recall@5"] == 0
    assert built.score_retrieval(question, [])["best_cos_rank"] is None


def test_a_hit_of_a_written_corpus_counts_by_its_sources(tmp_path: Path) -> None:
    built = harness(tmp_path, "query,keys\na,oven|flour\nb,\n", corpus=CORPUS, k=5)
    asked, nothing = questions(built)
    got = built.score_retrieval(asked, [hit("oven", "bakery_owner"), hit("m", "flour", "oven")])
    assert (got["recall@5"], got["rank@1"], got["mrr"], got["fraction@5"], got["precision@5"]) == (1, 0, 0.5, 1, 0.5)
    blind = built.score_retrieval(asked, [Hit(key="oven", text="oven")])
    assert blind["recall@5"] is blind["mrr"] is None
    empty = built.score_retrieval(nothing, [hit("oven", "oven", cosine=1.0)])
    assert set(empty.values()) == {None}, "a query without an answer is in no denominator"


def test_answers_are_not_labelled(tmp_path: Path) -> None:
    built = harness(tmp_path, "query,keys\na,x\n", namespace="mine")
    assert built.headline("recall") == "recall@10"
    with pytest.raises(ConfigError, match="labels keys and no answers: leave out reader and judge"):
        built.headline("accuracy")


def test_check_tells_every_trap(tmp_path: Path) -> None:
    told = "\n".join(build(labels(tmp_path).config).check())
    again = questions(build(labels(tmp_path).config))[2].id
    assert "questions 5, groups that move together 5, labelled keys 5" in told
    assert "questions by category: SECRETCAT 2, other 3" in told
    assert ": 3 memories, 1 without a time" in told
    assert f"1 queries that stand further up already, one group with them: {again}" in told
    assert "1 keys that stand twice in a row" in told
    assert "1 empty keys" in told
    assert "1 queries without a key, in no denominator" in told
    assert "2 labelled keys that the corpus does not hold, left out" in told
    assert "1 queries with no key in the corpus" in told
    assert "labelled by use" not in told
    used = "\n".join(build(relied_on(tmp_path).config).check())
    assert "1 queries relied on for a key that their search did not return" in used
    assert "3 labelled by use: they hold only what the ranking of their day brought up" in used
    there = "\n".join(harness(tmp_path, "query,keys\na,x\n", namespace="mine").check())
    assert "asked of what is there already, only searched: mine" in there


# --- a corpus that is there is left as it is -----------------------------------------------------------------------


class Shelf(MemorySystem):
    """A memory that holds a corpus, and that nothing but a search may touch."""

    capabilities = Capabilities(existing=True, sources=False)

    def __init__(self, arm: Any) -> None:
        super().__init__(arm)
        self.asked: list[tuple[str, Query]] = []

    async def open(self, opening: Opening) -> Provenance:
        return Provenance(build="test")

    async def search(self, ns: str, query: Query) -> Retrieval:
        self.asked.append((ns, query))
        return Retrieval(hits=(Hit(key="far", text="far", cosine=0.1), Hit(key=query.text, text="near", cosine=0.8)))

    def _touched(self, *_: object) -> Any:
        raise AssertionError("the corpus was touched")

    reset = write = settle = erase = drop_derived = holds = _touched


def run_on(folder: Path, config: HarnessConfig, system: type[MemorySystem] = Shelf):
    none = {"name": "none", "provider": "none"}
    arm = {"name": "shelf", "system": "none"}
    experiment = load({"harness": config.model_dump(), "arm": arm, "reader": none, "judge": none})
    made = system(experiment.arm)
    run = RunDir(folder)
    run.create(experiment.model_dump(mode="json"))
    with patch.object(NoMemory, "told_at_open", True):  # the system of the config is replaced before it is asked
        about = prepare(experiment)
    outcome = execute(run, dataclasses.replace(about, system=made), Silent(), cache_dir=None)
    return made, run, outcome


def test_an_existing_corpus_is_only_searched(tmp_path: Path) -> None:
    built = harness(tmp_path, "query,keys,namespace\nx,x,\ny,y,other\nz,w,\n", namespace="mine")
    shelf, run, outcome = run_on(tmp_path / "run", built.config)
    assert outcome.state == "complete", outcome.reason
    assert isinstance(shelf, Shelf)
    assert sorted((ns, query.text) for ns, query in shelf.asked) == [("mine", "x"), ("mine", "z"), ("other", "y")]
    assert all(query.evidence is None for _, query in shelf.asked)
    rows = {row.id: row for row in run.rows()}
    assert len(rows) == 3
    assert all(row.status == "ok" for row in rows.values())
    assert sorted(row.metrics["mrr"] for row in rows.values()) == [0, 0.5, 0.5]
    assert {row.metrics["best_cos_rank"] for row in rows.values()} == {2}


def test_a_memory_that_keeps_nothing_has_no_corpus_to_search(tmp_path: Path) -> None:
    class Forgetful(Shelf):
        capabilities = Capabilities()

    built = harness(tmp_path, "query,keys\nx,x\n", namespace="mine")
    with pytest.raises(RunnerError, match="there is no corpus 'mine' in it to search"):
        run_on(tmp_path / "run", built.config, Forgetful)


# --- from the command line -----------------------------------------------------------------------------------------


def test_a_run_over_a_corpus_resumes_from_another_folder(
    cli: Callable[..., CompletedProcess[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "memories.jsonl").write_text(CORPUS, encoding="utf-8")
    (tmp_path / "labels.csv").write_text("query,keys\nWho bakes bread?,bakery_owner\nlit oven,oven\n", encoding="utf-8")
    words = ("harness.dataset.path=labels.csv", "harness.settings.corpus=memories.jsonl")
    done = cli("harness=retrieval_recall", *words, "+arm=bm25")
    assert done.returncode == 0, done.stderr
    assert "2 questions" in done.stdout
    (run,) = runs_in(tmp_path)
    assert [row.metrics["rank@1"] for row in RunDir(run).rows()] == [1, 1]
    (run / "rows.jsonl").write_text("")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert resume([str(run), "--trust"]) == 0
    assert len(list(RunDir(run).rows())) == 2


def test_a_misspelt_key_is_told_by_every_run(tmp_path: Path) -> None:
    text = "query,keys\nWho bakes bread?,bakery_owner|bakery_own\nlit oven,ovn\n"
    built = harness(tmp_path, text, corpus=CORPUS)
    lost, blind = built.caveats()
    assert lost.startswith("2 labelled keys that the corpus does not hold, left out: ")
    assert "'bakery_own'" in lost
    assert "'ovn'" in lost
    assert blind.startswith("1 queries with no key in the corpus, in no denominator: ")
    assert harness(tmp_path, "query,keys\nx,x\n", namespace="mine").caveats() == []
