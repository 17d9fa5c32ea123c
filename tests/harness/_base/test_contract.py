"""What every harness keeps to, on a small data set each, and the base that they share: slices, look-up, configs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest
import yaml

from runner.analysis.metrics import Metrics
from runner.config import HarnessConfig, ModelConfig, SliceConfig, conf_dir
from runner.errors import ConfigError
from runner.harness import build, find, shipped
from runner.llm.judge import Judge
from runner.llm.reader import Reader
from runner.types import CORRECT, KINDS, LABELS, Hit, LabelF1, Scenario
from tests.support.harness_samples import SAMPLES, samples_in
from tests.support.harness_samples.sample import Sample
from tests.support.recording_system import given_to_a_system


@pytest.fixture
def harness():
    return build(HarnessConfig(name="synthetic_memory", settings={"scenarios": 5, "events": 36, "questions": 3}))


def ids(harness, **chosen):
    return [question.id for scenario in harness.load(SliceConfig(**chosen)) for question in scenario.questions]


def test_slices(harness):
    assert len(ids(harness)) == 15
    assert ids(harness, scenarios=["s00001"]) == ids(harness, scenarios=[1]) == [f"s00001/{n}" for n in range(3)]
    assert ids(harness, limit=4) == [*(f"s00000/{n}" for n in range(3)), "s00001/0"]
    assert ids(harness, questions=["s00003/1"]) == ["s00003/1"]
    # five scenarios of three take turns at seven categories: 1 2 3, 4 5 6, 7 1 2, 3 4 5, 6 7 1
    assert ids(harness, categories=["direct"]) == ["s00000/0", "s00002/1", "s00004/2"]
    assert ids(harness, categories=[1, "unanswerable"]) == ["s00000/0", "s00002/0", "s00002/1", "s00004/1", "s00004/2"]


def test_a_limit_reached_early_does_not_blame_the_scenarios_left(harness):
    assert ids(harness, scenarios=[0, 1, 2], limit=2) == ["s00000/0", "s00000/1"]


@pytest.mark.parametrize(
    ("chosen", "says"),
    [
        ({"scenarios": ["s0001"]}, "no scenario 's0001' (did you mean 's00001'?)"),
        ({"scenarios": [9]}, "no scenario '9'"),
        ({"questions": ["s00000/7"]}, "no question 's00000/7'"),
        ({"categories": ["direkt"]}, "no category 'direkt'; it has 1 direct"),
        ({"scenarios": [0], "categories": ["unanswerable"]}, "leaves no question"),
    ],
)
def test_slices_that_name_nothing(harness, chosen, says):
    with pytest.raises(ConfigError) as caught:
        ids(harness, **chosen)
    assert says in str(caught.value)


def test_census_is_the_hash_of_the_ids(harness):
    assert harness.census(SliceConfig()).sha256 == harness.census(SliceConfig(scenarios=[0, 1, 2, 3, 4])).sha256
    assert harness.census(SliceConfig(limit=3)).sha256 != harness.census(SliceConfig()).sha256


@pytest.mark.parametrize("name", ["locomo", "locomo_q", "nothing_like_it"])
def test_unknown_harness(name):
    with pytest.raises(ConfigError, match=f"there is no '{name}'.*there are .*locomo_qa"):
        find(name)


SHIPPED = sorted((conf_dir() / "harness").glob("*.yaml")) + sorted((conf_dir() / "slice").glob("*.yaml"))


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_shipped_configs(file: Path):
    text = file.read_text(encoding="utf-8")
    assert text.startswith("# python -m runner ")
    values = yaml.safe_load(text)
    model = HarnessConfig if file.parent.name == "harness" else SliceConfig
    config = model.model_validate(values)
    # A harness may have choices of data: longmemeval_m is longmemeval with another file.
    assert file.stem == config.name or (file.parent.name == "harness" and file.stem.startswith(f"{config.name}_"))
    assert set(values) == set(model.model_fields), "every key is shown"
    if isinstance(config, HarnessConfig):
        harness = build(config)
        assert harness.name == config.name
        assert harness.comparable <= set(harness.categories)
        assert set(harness.aliases.values()) <= set(harness.categories)


# --- every harness, on data of its own -----------------------------------------------------------------------------


@pytest.fixture(params=sorted(SAMPLES))
def sample(request: pytest.FixtureRequest, tmp_path: Path) -> Sample:
    return SAMPLES[request.param](tmp_path)


@pytest.fixture
def scenarios(sample: Sample) -> list[Scenario]:
    return list(build(sample.config).load(SliceConfig()))


def every(scenarios: Sequence[Scenario]) -> list:
    return [question for scenario in scenarios for question in scenario.questions]


def test_every_shipped_harness_has_a_sample() -> None:
    assert set(shipped()) <= {name.split()[0] for name in SAMPLES}


def test_a_new_sample_is_found_by_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "fresh_samples"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "sample.py").write_text("")
    (package / "tickets.py").write_text('SAMPLES = {"tickets": len, "tickets rows": sum}\n')
    monkeypatch.syspath_prepend(tmp_path)
    assert samples_in("fresh_samples", [str(package)]) == {"tickets": len, "tickets rows": sum}


def test_scenarios_are_a_stream_and_the_same_each_time(sample: Sample) -> None:
    harness = build(sample.config)
    stream = harness.read()
    assert isinstance(stream, Iterator)
    first = next(stream)
    again = list(build(sample.config).read())
    assert msgspec.json.encode([first, *stream]) == msgspec.json.encode(again)
    assert harness.dataset() == build(sample.config).dataset()


def test_ids_are_unique_and_evidence_exists(scenarios: list[Scenario]) -> None:
    names = [scenario.id for scenario in scenarios]
    assert len(set(names)) == len(names)
    asked = [question.id for question in every(scenarios)]
    assert len(set(asked)) == len(asked)
    for scenario in scenarios:
        ids = [event.id for event in scenario.events]
        assert len(set(ids)) == len(ids)
        for question in scenario.questions:
            assert set(question.gold.evidence) <= set(ids)
            assert len(set(question.gold.evidence)) == len(question.gold.evidence)


def test_events_come_in_time_order_and_say_something(scenarios: list[Scenario]) -> None:
    for scenario in scenarios:
        times = [event.time for event in scenario.events if event.time is not None]
        assert times == sorted(times)
        for event in scenario.events:
            assert event.text.strip()
            assert event.kind in KINDS


def test_slices_are_deterministic(sample: Sample, scenarios: list[Scenario]) -> None:
    harness = build(sample.config)
    asked = [question.id for question in every(scenarios)]
    by_category = {question.category for question in every(scenarios)}
    parts = [[q.id for q in every(list(harness.load(SliceConfig(categories=[name]))))] for name in by_category]
    assert sorted(name for part in parts for name in part) == sorted(asked)
    assert [q.id for q in every(list(harness.load(SliceConfig(limit=3))))] == asked[:3]
    assert [q.id for q in every(list(harness.load(SliceConfig(questions=[asked[-1]]))))] == [asked[-1]]
    one = list(harness.load(SliceConfig(scenarios=[scenarios[-1].id])))
    assert [scenario.id for scenario in one] == [scenarios[-1].id]
    whole = harness.census(SliceConfig())
    assert whole == build(sample.config).census(SliceConfig())
    assert (whole.questions, whole.scenarios) == (len(asked), len(scenarios))
    assert harness.census(SliceConfig(limit=1)).sha256 != whole.sha256


def test_categories_are_complete(sample: Sample, scenarios: list[Scenario]) -> None:
    harness = build(sample.config)
    assert {question.category for question in every(scenarios)} <= set(harness.categories)
    assert harness.comparable <= set(harness.categories)
    for name, known in harness.categories.items():
        assert harness.category(name) == harness.category(known) == name
    for name, known in harness.aliases.items():
        assert harness.category(name) == known


def test_rubrics_are_declared_and_there(sample: Sample, scenarios: list[Scenario]) -> None:
    harness = build(sample.config)
    used = {question.rubric for question in every(scenarios)} - {""}
    assert used <= set(harness.rubrics)
    judge = Judge(ModelConfig(name="fake", provider="fake", model="lexical", rubric="locomo_lenient"), used)
    for question in every(scenarios):
        if question.rubric:
            judge.request(question, "an answer", *question.gold.points[:1])


def test_prompts_are_declared_and_there(sample: Sample, scenarios: list[Scenario]) -> None:
    harness = build(sample.config)
    used = {question.prompt for question in every(scenarios)} - {""}
    assert used <= set(harness.prompts)
    reader = Reader(ModelConfig(name="fake", provider="fake", model="extractive", prompt="locomo_qa"), harness.prompts)
    for question in every(scenarios):
        request = reader.request(question, "what was found")
        assert (question.reading or question.text) in request.prompt


def test_rules_are_declared_and_grade_whatever_is_said(sample: Sample, scenarios: list[Scenario]) -> None:
    """A label for every answer there can be, and CORRECT for some gold answer where the rule compares with it."""
    harness = build(sample.config)
    assert {question.rule for question in every(scenarios)} - {""} <= set(harness.rules)
    for question in every(scenarios):
        if not question.rule:
            continue
        said = ["", " \n ", "no", "\x00", "ß" * 1000, "word " * 5_000, "A B C D", *question.gold.answers]
        labels = [harness.grade(question, answer) for answer in said]
        assert {label.value for label in labels} <= set(LABELS)
        assert all(label.score is None or 0 <= label.score <= 1 for label in labels)
        assert labels[0].value != CORRECT or question.gold.abstain, "nothing said is not right"
        assert harness.grade(question, said[-1]) == labels[-1], "the same each time"


def test_documents_are_declared_where_there_are_any(sample: Sample, scenarios: list[Scenario]) -> None:
    held = any(event.kind == "doc" for scenario in scenarios for event in scenario.events)
    assert build(sample.config).documents or not held


def test_tags_are_declared_and_there(sample: Sample, scenarios: list[Scenario]) -> None:
    harness = build(sample.config)
    assert set(harness.tags) <= {tag for question in every(scenarios) for tag in question.tags}
    for question in every(scenarios):
        assert all(isinstance(value, str) and value for value in question.tags.values())


def test_a_class_that_is_named_is_a_metric(sample: Sample, scenarios: list[Scenario]) -> None:
    harness = build(sample.config)
    for made in (metric.made for metric in harness.metrics if isinstance(metric.made, LabelF1)):
        assert made.macro in {metric.name for metric in harness.metrics}
        wanted = {made.prefix + name for name in harness.categories}
        for question in every(scenarios):
            for answer in ("", *harness.categories):
                told = harness.score_answer(question, answer)
                assert wanted <= set(told)
                assert {told[name] for name in wanted} <= {0.0, 1.0}


def test_empty_and_huge(sample: Sample, scenarios: list[Scenario]) -> None:
    """Nothing written and nothing found; ten thousand hits; a long answer."""
    harness = build(sample.config)
    question = every(scenarios)[0]
    many = [Hit(key=f"k{number}", text="word " * 20, sources=(f"e{number}",)) for number in range(10_000)]
    for told in (
        harness.score_retrieval(question, []),
        harness.score_retrieval(question, many),
        harness.score_answer(question, "word " * 40_000),
        harness.score_delivered(question, "word " * 40_000),
        harness.score_delivered(question, "", failed=True),
    ):
        assert all(value is None or math.isfinite(value) for value in told.values())


def test_metrics_are_finite_and_declared(sample: Sample, scenarios: list[Scenario]) -> None:
    harness = build(sample.config)
    declared = Metrics(harness.metrics)
    for scenario in scenarios:
        events = scenario.events[:20]
        found = [Hit(key=event.id, text=event.text, sources=(event.id,)) for event in events]
        merged = Hit(key="m", text="", sources=tuple(event.id for event in events))
        nowhere = Hit(key="x", text="x", sources=())
        blind = Hit(key="b", text="b", sources=None)
        for question in scenario.questions:
            right = [Hit(key=name, text="", sources=(name,)) for name in question.gold.evidence]
            said = ["", " \n ", "NaN", "1) a 2) b", "no", *question.gold.answers, "word " * 5000]
            told = [harness.score_retrieval(question, hits) for hits in ([], found, [merged, nowhere], [blind], right)]
            assert len({frozenset(item) for item in told}) == 1, "the same metrics, whatever came back"
            assert not any(told[3].values()), "what has no source is not measurable, never 0"
            told += [harness.score_answer(question, answer) for answer in said]
            told += [harness.score_delivered(question, answer) for answer in said]
            for item in told:
                assert all(value is None or math.isfinite(value) for value in item.values())
                assert [name for name in item if declared.own(name) is None] == [], "every metric says what it is"
                shares = [name for name in item if (metric := declared.own(name)) and metric.share]
                assert all(item[name] is None or 0 <= item[name] <= 1 for name in shares)


def test_check_tells_counts_in_lines(sample: Sample, scenarios: list[Scenario]) -> None:
    told = build(sample.config).check()
    assert build(sample.config).dataset().sha256 in told[0]
    assert all(line and "\n" not in line for line in told)
    assert str(len(every(scenarios))) in " ".join(told)


def test_no_gold_reaches_a_system(sample: Sample, scenarios: list[Scenario], tmp_path: Path) -> None:
    """A whole run against a system that keeps every byte: none of the data's gold is in them, nor a question's id."""
    given, rows = given_to_a_system(sample.config, tmp_path / "run")
    assert rows == len(every(scenarios))
    for event in (event for scenario in scenarios for event in scenario.events):
        assert repr(event.text) in given, "it was a real run"
    for secret in sample.secrets:
        assert secret not in given
    for question in every(scenarios):
        assert f"'{question.id}'" not in given
