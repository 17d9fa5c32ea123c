"""The shipped suite: what it holds, what systems get to see of it, and that it is the same everywhere."""

from __future__ import annotations

import asyncio
import dataclasses
import re
import subprocess
import sys
import tracemalloc
from collections import Counter
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
import yaml

from runner.config import ArmConfig, HarnessConfig, SliceConfig, load
from runner.errors import ConfigError
from runner.harness import build
from runner.harness.handoff import SHIPPED
from runner.harness.handoff.lint import errors, notes
from runner.harness.handoff.scenario_file import FAMILIES, PHRASES, EventSpec, ScenarioSpec
from runner.harness.handoff.scenario_folder import spec_of
from runner.harness.handoff.score import collapsed, score_text
from runner.harness.handoff.variants import SETS, prose_of, with_actor
from runner.types import KINDS, Checkpoint

FILES = sorted(SHIPPED.glob("*.yaml"))
SPECS = {path.stem: spec_of(path) for path in FILES}
SKILLS = {
    "continuity": """failed_approaches uncommitted_notes attribution cold_start scope_isolation budget_discipline noise
    decision_rationale chain_of_three open_question stale_context superseded_plan conflicting_sources
    circular_sourcing abandoned_thread""",
    "memory": """direct_recall preference lexical_needle multi_hop current_value negation abstention_never
    abstention_adjacent aggregation temporal_order temporal_window contradiction haystack""",
    "durability": "handoff_survives memories_survive notes_survive",
}


def make(**settings):
    return build(HarnessConfig(name="handoff", settings=settings))


@pytest.fixture(scope="module")
def suite():
    return list(make().read())


# --- what it holds -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SPECS)
def test_a_file_is_in_order(name):
    spec = SPECS[name]
    assert spec.id == name
    assert list(errors(spec)) == []
    assert len(spec.asked) == 3


def test_composition():
    assert len(SPECS) >= 48
    assert sum(spec.expect == "fail" for spec in SPECS.values()) * 3 >= len(SPECS)
    assert sum(spec.expect == "pass" for spec in SPECS.values()) * 3 >= len(SPECS)
    by_family = {family: {s.skill for s in SPECS.values() if s.family == family} for family in FAMILIES}
    assert by_family == {family: set(skills.split()) for family, skills in SKILLS.items()}
    assert all(count >= 2 for count in Counter(spec.skill for spec in SPECS.values()).values())
    assert {event.kind for spec in SPECS.values() for event in spec.events} == set(KINDS)
    assert all(spec.haystack + len(spec.events) >= 200 for spec in SPECS.values() if spec.skill == "haystack")
    # nothing of one kind is foreseen alike: a suite of wins, or of losses, would tell nothing
    for family in ("continuity", "memory"):
        assert {spec.expect for spec in SPECS.values() if spec.family == family} == {"pass", "fail"}


def test_no_text_is_used_twice():
    asked = Counter(collapsed(text) for spec in SPECS.values() for text in spec.asked)
    # Within a scenario alerts and twins repeat on purpose; the three heaps are one year of one office.
    said = Counter(text for s in SPECS.values() for text in {collapsed(e.text) for e in s.events if len(e.text) > 45})
    again = [text for text, n in (asked + said).items() if n > 1]
    assert again == ["we look for a new office, the lease ends next christmas."]
    assert len({spec.why for spec in SPECS.values()}) == len(SPECS)


def test_every_scenario_can_be_passed_and_none_for_free(suite):
    """Saying exactly what is asked for passes within the budget; saying nothing, or all that is wrong, never does."""
    for scenario in suite:
        for question in scenario.questions:
            gold = question.gold
            right = [" & ".join((*fact.any[:1], *fact.all)) for fact in (*gold.carry, *gold.signal)]
            assert score_text(gold, ". ".join(right), question.text, question.budget).passed, question.id
            assert not score_text(gold, "", question.text, question.budget).passed, question.id
            assert not score_text(gold, question.text * 2, question.text, None).passed, question.id
            wrong = [" & ".join((*fact.any[:1], *fact.all)) for fact in gold.avoid]
            if wrong:
                assert not score_text(gold, ". ".join(right + wrong), question.text, None).passed, question.id


def test_the_whole_history_holds_the_gold(suite):
    """Facts are looked for where they were told, whatever their place; a signal is beyond the history."""
    for scenario in suite:
        everything = "\n".join(f"{event.actor}: {event.text}" for event in scenario.events)
        gold = scenario.questions[0].gold
        got = score_text(gold, everything)
        assert got.recall == 1, scenario.id
        assert len(got.leaked) == len(gold.avoid), scenario.id


def test_phrases_are_not_said_by_any_event(suite):
    for scenario in suite:
        listed = [f for f in scenario.questions[0].gold.signal if any(set(f.any) >= set(p) for p in PHRASES.values())]
        everything = "\n".join(event.text for event in scenario.events)
        assert all(
            score_text(msgspec.structs.replace(scenario.questions[0].gold, signal=(f,)), everything).signal == 0
            for f in listed
        )


# --- how it is asked -----------------------------------------------------------------------------------------------


def test_variants(suite):
    assert len(suite) == (1 + len(SETS)) * len(SPECS)
    by_id = {scenario.id: scenario for scenario in suite}
    harness = make()
    for name, spec in SPECS.items():
        base, *more = (by_id[key] for key in (name, *(f"{name}+d{n}" for n in SETS)))
        assert [q.text for q in base.questions] == spec.asked
        assert [q.id for q in base.questions] == [f"{name}/{n}" for n in range(3)]
        assert [harness.category_name(q.category) for q in base.questions] == [spec.family, "variant", "variant"]
        assert len(base.events) == len(spec.events) + spec.haystack
        for number, scenario in zip(SETS, more, strict=True):
            (question,) = scenario.questions
            assert (question.id, question.text, question.category) == (f"{scenario.id}/0", spec.query.task, "v")
            assert len(scenario.events) == len(base.events) + spec.distractors
            assert {e.text for e in base.events} <= {e.text for e in scenario.events}
            assert question.tags["distractors"] == str(number)
        assert more[0].events != more[1].events
        for scenario in (base, *more):
            assert scenario.cluster == name
            assert scenario.drop_derived == (spec.family == "durability")
            for index, question in enumerate(scenario.questions):
                assert question.tags["wording"] == str(index)
                assert {k: question.tags[k] for k in ("family", "skill", "expect", "scenario")} == {
                    "family": spec.family, "skill": spec.skill, "expect": spec.expect, "scenario": name,
                }  # fmt: skip
                assert (question.agent, question.budget, question.now) == (
                    spec.query.agent, spec.query.budget, spec.now,
                )  # fmt: skip
                assert question.project == spec.project
    assert "v" not in harness.comparable
    assert harness.headline("recall") == "pass"
    assert harness.headline("accuracy") == "accuracy_abstain_wrong"


def test_events_come_in_time_order_and_before_now(suite):
    for scenario in suite:
        times = [event.time for event in scenario.events]
        assert all(a <= b for a, b in pairwise(times))
        assert times[-1] <= scenario.questions[0].now
        assert [event.id for event in scenario.events] == [f"e{n:05d}" for n in range(len(times))]


def test_no_gold_term_is_in_a_filler(suite):
    for scenario in suite:
        spec = SPECS[scenario.cluster]
        own = {collapsed(with_actor(event, spec)) for event in spec.events}
        terms = [collapsed(term) for term in spec.gold.terms()]
        others = [collapsed(f"{event.actor}: {event.text}") for event in scenario.events]
        filler = [text for text in others if text not in own]
        assert len(filler) == len(scenario.events) - len(spec.events)
        assert not [(text, term) for text in filler for term in terms if term in text]


def test_evidence_is_where_something_to_carry_stands(suite):
    for scenario in suite:
        gold = scenario.questions[0].gold
        texts = {event.id: f"{event.actor}: {event.text}" for event in scenario.events}
        assert bool(gold.evidence) == bool(gold.carry)
        assert score_text(gold, "\n".join(texts[name] for name in gold.evidence)).recall == 1
        assert bool(gold.answers) != gold.abstain


def test_settings():
    assert {s.id for s in make(only="haystack").read()} == {
        f"{name}{d}" for name in ("mezzanine", "movers-day", "office-pets") for d in ("", "+d1", "+d2")
    }
    assert [s.id for s in make(only="mezz", distractors=False).read()] == ["mezzanine"]
    (only,) = make(only="mezz", variants="as_written").read()
    assert [q.id for q in only.questions] == ["mezzanine/0"]
    assert {SPECS[s.cluster].family for s in make(only="durability").read()} == {"durability"}
    with pytest.raises(ConfigError, match=r"only: no scenario's.*'haystak' \(did you mean 'haystack'"):
        list(make(only="haystak").read())


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"settings": {"shipped": False}}, "shipped: false leaves no scenarios; name yours"),
        ({"settings": {"variants": "some"}}, "harness.settings.variants"),
        ({"settings": {"sceanrios": "x"}}, "did you mean 'scenarios'"),
        ({"dataset": {"path": "x"}}, "harness.settings.scenarios=DIR"),
        ({"patches": ["x"]}, "takes no gold patches"),
    ],
)
def test_bad_settings(config, says):
    with pytest.raises(ConfigError, match=re.escape(says)):
        build(HarnessConfig(name="handoff", **config))


def test_slices_keep_that_a_history_loses_its_index():
    (scenario,) = make().load(SliceConfig(scenarios=["boiler"], limit=1))
    assert scenario.drop_derived
    assert len(scenario.questions) == 1


def test_an_event_in_prose():
    event = EventSpec(
        time="2026-03-02 10:14",
        actor="claude",
        kind="checkpoint",
        task="Stop the leak.",
        decisions=["keep the pump"],
        failed=["new seal, drips again;", "more glue"],
        questions=["who pays?"],
        next="measure",
        text="Tired.",
    )
    assert prose_of(event, "garden") == (
        "[garden] Checkpoint. Task: Stop the leak. Decided: keep the pump. "
        "Ruled out, did not work: new seal, drips again; more glue. Open questions: who pays? Next: measure. Tired."
    )
    doc = {"time": "2026-03-02 10:14", "actor": "mira", "kind": "doc", "text": "Ask first."}
    assert prose_of(EventSpec(**doc, title="Rules"), "") == "Document 'Rules': Ask first."
    assert prose_of(EventSpec(**doc), "x") == "[x] Document: Ask first."
    assert prose_of(EventSpec(**{**doc, "kind": "message"}), "x") == "[x] Ask first."
    assert prose_of(EventSpec(**{**doc, "kind": "commit"}), "") == "Commit: Ask first."


def test_structured_fields_are_filled_as_well(suite):
    (base,) = (scenario for scenario in suite if scenario.id == "invoice-pdf")
    stops = [event for event in base.events if event.kind == "checkpoint" and event.project == "ledger"]
    assert [event.checkpoint for event in stops] == [
        Checkpoint(
            task="Stop the PDF export from running out of memory",
            decisions=("one document with page numbers that run through",),
            failed=(
                "chunked rendering, page numbers restart in every part",
                "a 4 GB worker, Brightwater still dies",
                "the streaming template engine, tables lose their header row",
            ),
            questions=("may the export run at night instead of on demand?",),
            next="let the renderer spool to disk (its --spool flag) and measure Brightwater again",
        )
    ]
    docs = [event for s in suite for event in s.events if event.kind == "doc"]
    assert all(event.title and event.title in event.text for event in docs)
    assert all(event.checkpoint is None for s in suite for event in s.events if event.kind != "checkpoint")


# --- what a system sees --------------------------------------------------------------------------------------------


def test_ids_reveal_nothing():
    telling = {word for skills in SKILLS.values() for name in skills.split() for word in name.split("_")}
    telling |= {*FAMILIES, "fail", "pass", "gold", "needle", "stale", "old", "never", "not", "wipe", "latest", "final"}
    for name, spec in SPECS.items():
        assert not set(name.split("-")) & telling, name
        spoken = collapsed(name.replace("-", " "))
        assert not [term for term in spec.gold.terms() if collapsed(term) in spoken], name


def test_a_system_gets_no_gold_but_what_events_say(tmp_path: Path):
    """Everything that reaches a system in a run, held against the files."""
    from runner.experiment.execute import execute
    from runner.experiment.prepare import prepare
    from runner.record.rundir import RunDir
    from runner.system import Capabilities, MemorySystem, Provenance, receipt_of
    from runner.types import NO_SOURCE_OF_TRUTH, Hit, Retrieval

    seen: dict[str, list] = {}
    asked = []

    class Spy(MemorySystem):
        capabilities = Capabilities(durable=False)

        async def open(self, opening):
            return Provenance(build="test")

        async def reset(self, ns):
            seen[ns] = []

        async def write(self, ns, events):
            seen[ns] += events
            return receipt_of(events)

        async def search(self, ns, query):
            asked.append((ns, query))
            await asyncio.sleep(0)
            return Retrieval(hits=tuple(Hit(key=e.id, text=e.text, sources=(e.id,)) for e in seen[ns]))

        async def erase(self, ns):
            pass

    class Watch:
        def begin(self, total, done): ...
        def row(self, row, usd): ...
        def note(self, text): ...
        def end(self): ...

    none = {"name": "none", "provider": "none"}
    config = load(
        {
            "harness": {"name": "handoff"},
            "arm": {"name": "spy", "system": "none", "recall": {"limit": None}},
            "reader": none,
            "judge": none,
        }
    )
    ready = dataclasses.replace(prepare(config), system=Spy(ArmConfig(name="spy", system="none")))
    run = RunDir(tmp_path / "run")
    run.create(config.model_dump(mode="json"))
    assert execute(run, ready, Watch(), cache_dir=None).state == "complete"

    names = {ns.split("-", 2)[2] for ns in seen}
    assert names == {f"{name}{d}" for name in SPECS for d in ("", "+d1", "+d2")}
    for ns, events in seen.items():
        name = ns.split("-", 2)[2]
        spec = SPECS[name.partition("+")[0]]
        own = {collapsed(with_actor(event, spec)) for event in spec.events}
        terms = [collapsed(term) for term in spec.gold.terms()]
        for event in events:
            said = collapsed(f"{event.actor}: {event.text}")
            if said in own:
                continue
            handed = msgspec.json.encode(msgspec.structs.replace(event, time=None)).decode()
            handed = collapsed(f"{handed} {event.time:%d %B %Y, %H:%M}")
            assert not [term for term in terms if term in handed], (name, event)
            assert spec.why.casefold() not in handed
    # a question reaches it as words, clock, project, asker and room, and nothing else
    for ns, query in asked:
        spec = SPECS[ns.split("-", 2)[2].partition("+")[0]]
        assert query.text in spec.asked
        assert (query.evidence, query.mode) == (None, "default")
        assert (query.now, query.project, query.agent, query.max_tokens) == (
            spec.now, spec.project, spec.query.agent, spec.query.budget,
        )  # fmt: skip
        assert not spec.drop_derived, "a system without a source of truth is not asked after the loss"
    rows = list(run.rows())
    lost = [row for row in rows if NO_SOURCE_OF_TRUTH in row.flags]
    assert {row.tags["family"] for row in lost} == {"durability"}
    assert len(lost) == 5 * sum(spec.drop_derived for spec in SPECS.values())
    assert {(row.status, row.metrics["pass"], row.metrics["fidelity"], row.metrics["tokens"]) for row in lost} == {
        ("ok", 0.0, 0.0, 0.0)
    }
    told_all = [row for row in rows if row.tags["skill"] == "direct_recall"]
    assert any(row.metrics["over_budget"] == 1.0 for row in told_all)
    assert all(row.metrics["fact_recall"] is not None for row in rows)


# --- the same everywhere -------------------------------------------------------------------------------------------

CODE = """
import hashlib, msgspec
from runner.config import HarnessConfig
from runner.harness import build
harness = build(HarnessConfig(name="handoff"))
sha = hashlib.sha256()
for scenario in harness.read():
    sha.update(msgspec.json.encode(scenario))
print(harness.dataset().sha256, sha.hexdigest())
"""


def test_the_same_in_every_process():
    root = str(Path(__file__).resolve().parents[3])
    told_by = [
        subprocess.run(
            [sys.executable, "-c", CODE],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": root},
        ).stdout
        for seed in ("1", "2")
    ]
    assert told_by[0] == told_by[1]
    assert told_by[0].split()[0] == make().dataset().sha256


def test_a_seed_moves_the_filler_and_nothing_else(suite):
    other = {scenario.id: scenario for scenario in make(seed=8).read()}
    moved = 0
    for scenario in suite:
        spec = SPECS[scenario.cluster]
        own = {collapsed(with_actor(event, spec)) for event in spec.events}

        def hand_written(events, own=own):
            return [(e.time, e.actor, e.kind, e.text) for e in events if collapsed(f"{e.actor}: {e.text}") in own]

        assert hand_written(scenario.events) == hand_written(other[scenario.id].events)
        moved += scenario.events != other[scenario.id].events
    assert moved == len(suite)
    assert make(seed=8).dataset().sha256 == make().dataset().sha256  # the seed is a setting, and in the instrument


def test_a_change_of_the_filler_or_of_the_prose_shows():
    """Where this fails on purpose, raise VERSION in _handoff_make (prose, draws) or POOL_VERSION (sentences)."""
    import hashlib

    from runner.harness.handoff.variants import VERSION, scenarios

    spec = SPECS["invoice-pdf"]
    fixed = spec.model_copy(update={"events": spec.events[:3] + spec.events[-2:]})
    sha = hashlib.sha256()
    for scenario in scenarios(fixed, 7):
        for event in scenario.events:
            sha.update(f"{event.time} {event.actor} {event.kind} {event.text}\n".encode())
    assert (VERSION, sha.hexdigest()[:16]) == ("1.1", PINNED)


PINNED = "a2f1965d113352e1"


def test_dataset_says_what_it_is():
    info = make().dataset()
    assert info.pinned
    assert info.version == f"1.1, {len(SPECS)} scenarios"
    with pytest.raises(ConfigError, match=r"harness\.dataset\.sha256"):
        build(HarnessConfig(name="handoff", dataset={"sha256": "0" * 64})).dataset()
    assert build(HarnessConfig(name="handoff", dataset={"sha256": info.sha256})).dataset() == info


def test_the_answer_of_a_reader_is_scored_as_well(suite):
    harness = make()
    (question, *_) = next(scenario for scenario in suite if scenario.id == "museum-guide").questions
    assert harness.score_answer(question, "There is no record of a budget.") == {
        "answer_pass": 1.0,
        "answer_fidelity": 1.0,
        "answer_signal": 1.0,
    }
    assert harness.score_answer(question, "20,000 euros")["answer_pass"] == 0.0
    assert harness.score_retrieval(question, []) == {}


def test_check_tells_the_composition():
    lines = make().check()
    assert (
        f"expected to fail for a plain store: {sum(s.expect == 'fail' for s in SPECS.values())} of {len(SPECS)}"
        in lines
    )
    (families,) = (line for line in lines if line.startswith("by family: "))
    counts = Counter(spec.family for spec in SPECS.values())
    assert families == "by family: " + ", ".join(f"{family} {counts[family]}" for family in FAMILIES)


def test_long_histories_stream(tmp_path: Path):
    """200 scenarios of 1,000 events: what is held is a scenario at a time, not the set."""
    text = FILES[0].read_text(encoding="utf-8")
    own = len(SPECS[FILES[0].stem].events)
    text = re.sub(r"(?m)^haystack: \d+$", f"haystack: {1000 - own}", text)
    for number in range(200):
        name = f"long-{number:03d}"
        (tmp_path / f"{name}.yaml").write_text(re.sub(r"(?m)^id: .*$", f"id: {name}", text), encoding="utf-8")
    harness = make(scenarios=str(tmp_path), shipped=False, variants="as_written")
    stream = harness.read()
    assert len(next(stream).events) == 1000  # the files are checked, and filler is made, before memory is measured
    tracemalloc.start()
    try:
        for _ in range(6):
            assert len(next(stream).events) == 1000
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 6_000_000


def test_the_page_about_it_tells_the_truth():
    page = (Path(__file__).resolve().parents[3] / "docs" / "handoff.md").read_text(encoding="utf-8")
    example = re.search(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert example is not None
    spec = ScenarioSpec.model_validate(yaml.safe_load(example[1]))
    assert list(errors(spec)) == list(notes(spec)) == []
    fails = sum(s.expect == "fail" for s in SPECS.values())
    assert f"{fails} of the {len(SPECS)} are expected to fail" in page
    assert f"# {len(SPECS)} scenarios, {5 * len(SPECS)} questions" in page
    for family, count in Counter(spec.family for spec in SPECS.values()).items():
        assert f"| {family} | {count} |" in page
    assert all(f"`{name}`" in page for name in PHRASES if name != "not_known")
