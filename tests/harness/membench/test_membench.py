"""MemBench, on small files in the published layouts: what is asked of which memory, and how an answer is graded."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from runner.config import HarnessConfig, ModelConfig, SliceConfig
from runner.errors import ConfigError
from runner.harness import build
from runner.harness.membench import MemBench, size
from runner.llm.reader import Reader
from runner.types import ABSTAIN, CORRECT, GOLD_FIXED, WRONG, Hit, Question, Scenario
from tests.support.harness_samples.membench import membench_data, membench_qa, membench_seen, membench_talked
from tests.support.refusals import refusal


def harness_at(path: Path, patches: list[str] | None = None, **settings: Any) -> MemBench:
    dataset = {"path": str(path), "sha256": None}
    harness = build(HarnessConfig(name="membench", dataset=dataset, patches=patches or [], settings=settings))
    assert isinstance(harness, MemBench)
    return harness


def one_file(folder: Path, *trajectories: dict[str, Any], task: str = "simple", **settings: Any) -> MemBench:
    path = folder / f"{task}.json"
    path.write_text(json.dumps({"roles": list(trajectories)}), encoding="utf-8")
    return harness_at(path, **settings)


def by_name(harness: MemBench) -> dict[str, Scenario]:
    return {scenario.questions[0].id: scenario for scenario in harness.load(SliceConfig())}


# --- what is read --------------------------------------------------------------------------------------------------


def test_two_views_by_two_levels(tmp_path: Path) -> None:
    scenarios = by_name(harness_at(membench_data(tmp_path)))
    categories = {name: scenario.questions[0].category for name, scenario in scenarios.items()}
    assert categories == {
        "participation/highlevel_rec/movie/0": "participation-reflective",
        "participation/simple/roles/0": "participation-factual",
        "participation/simple/roles/1": "participation-factual",
        "participation/simple/events/0": "participation-factual",
        "observation/highlevel/food/0": "observation-reflective",
        "observation/noisy/roles/0": "observation-factual",
        "observation/noisy/places/0": "observation-factual",
    }
    tags = scenarios["participation/simple/events/0"].questions[0].tags
    assert tags == {
        "view": "participation",
        "level": "factual",
        "task": "simple",
        "topic": "events",
        "tokens": "<1k",
    }
    # tid 0 is one user in every file, and no id
    assert (
        scenarios["participation/simple/roles/0"].cluster == scenarios["observation/noisy/roles/0"].cluster == "user 0"
    )
    assert scenarios["participation/simple/roles/1"].cluster == "user 1"


def test_an_exchange_is_one_event_and_a_message_is_one(tmp_path: Path) -> None:
    scenarios = by_name(harness_at(membench_data(tmp_path)))
    first, second, third = scenarios["participation/simple/roles/0"].events
    assert first.text == "user: My boss is 27.\nassistant: I see: My boss is 27. (place: Oslo)"
    assert (first.id, first.actor, first.session, first.time) == ("m00001", "", "s01", datetime(2024, 10, 1, 8))
    assert (second.session, third.session) == ("s01", "s02")
    seen = scenarios["observation/noisy/roles/0"].events
    assert [event.text for event in seen] == [
        "My boss is 27. (place: Oslo)",
        "It rains. (place: Oslo)",
        "I swim. (place: Oslo)",
    ]
    assert seen[0].actor == "user"
    assert seen[1].time == datetime(2024, 10, 1, 9)


def test_targets_count_over_all_sessions(tmp_path: Path) -> None:
    scenarios = by_name(harness_at(membench_data(tmp_path)))
    # steps: 0 | 1 2; [1, 1] is the first of the second session, [3, 1] is beyond its end
    assert scenarios["participation/simple/roles/1"].questions[0].gold.evidence == ("m00002",)
    assert scenarios["observation/highlevel/food/0"].questions[0].gold.evidence == ("m00001", "m00002")
    assert scenarios["participation/highlevel_rec/movie/0"].questions[0].gold.evidence == ()


def test_a_target_may_count_inside_its_session(tmp_path: Path) -> None:
    talk = membench_talked([["One.", "Two."], ["Three.", "Four."]], membench_qa("x", target_step_id=[[1, 1], [9, 0]]))
    for session in talk["message_list"]:
        for number, message in enumerate(session):
            message["sid"] = number
    harness = one_file(tmp_path, talk)
    (scenario,) = harness.read()
    assert scenario.questions[0].gold.evidence == ("m00004",)  # step 1 lies in the first session
    told = "\n".join(harness.check())
    assert "target counted inside its session: 1 in 1" in told
    assert "message numbers that restart in every session: 1 in 1" in told
    assert "targets that are no message of their trajectory: 1 (participation/simple/roles/0 [9, 0])" in told


def test_joined_and_sampled_files(tmp_path: Path) -> None:
    tail = "(place: New York, NY; time: '2024-10-01 08:00' Tuesday)"
    talk = {"tid": 0, "message_list": [{"user": f"Hi. {tail}", "agent": f"Yes. {tail}"}], "QA": membench_qa("x")}
    seen = {"tid": 0, "message_list": ["No time.", f"Hi. {tail.replace('time: ', 'time')}"], "QA": membench_qa("x")}
    for agent, item in (("FirstAgent", talk), ("ThirdAgent", seen)):
        data = {"highlevel": {"movie": [item]}}
        (tmp_path / f"{agent}DataHighLevel_multiple_0.json").write_text(json.dumps(data), encoding="utf-8")
    scenarios = by_name(harness_at(tmp_path))
    (event,) = scenarios["participation/highlevel/movie/0"].events
    assert event.text == "user: Hi.\nassistant: Yes. (place: New York, NY)"
    assert event.time == datetime(2024, 10, 1, 8)
    untimed, timed = scenarios["observation/highlevel/movie/0"].events
    assert (untimed.text, untimed.time) == ("No time.", None)
    assert (timed.text, timed.time) == ("Hi. (place: New York, NY)", datetime(2024, 10, 1, 8))


def test_a_folder_of_one_view_and_one_file_ask_the_same(tmp_path: Path) -> None:
    root = membench_data(tmp_path)
    whole = by_name(harness_at(root))
    checkout, view = by_name(harness_at(root.parent)), by_name(harness_at(root / "ThirdAgent"))
    assert checkout == whole
    assert view == {name: item for name, item in whole.items() if name.startswith("observation")}
    assert by_name(harness_at(root / "ThirdAgent" / "noisy.json")).keys() == {
        "observation/noisy/roles/0",
        "observation/noisy/places/0",
    }
    assert harness_at(root).dataset().sha256 == harness_at(root.parent).dataset().sha256


def test_events_go_by_time_and_empty_ones_are_left_out(tmp_path: Path) -> None:
    item = membench_seen(["Late.", "", "Early."], membench_qa("x", target_step_id=[0, 1]))
    item["message_list"][0]["time"] = "'2024-10-01 23:00' Monday"
    harness = one_file(tmp_path, item)
    (scenario,) = harness.read()
    assert [event.text for event in scenario.events] == ["Early. (place: Oslo)", "Late. (place: Oslo)"]
    assert scenario.questions[0].gold.evidence == ("m00002",)
    told = "\n".join(harness.check())
    for trap in (
        "messages not in time order in the file: 1 in 1",
        "empty message, left out: 1 in 1",
        "weekday that is not the date's: 1 in 1",
        "fact marked on its message, not ingested: 1 in 1",
        "targets that are no message of their trajectory: 1 (observation/simple/roles/0 1)",
    ):
        assert trap in told


def test_choices_of_every_kind(tmp_path: Path) -> None:
    choices = {"A": ["Alien", "Heat"], "B": [], "C": 27, "D": "two\n lines"}
    qa = membench_qa("x", choices=choices, ground_truth="A", answer=["Alien", "Heat"])
    question = next(one_file(tmp_path, membench_seen(["Hi."], qa)).read()).questions[0]
    assert question.reading == "What is right?\nA. Alien, Heat\nB. (nothing)\nC. 27\nD. two lines"
    assert question.text == "What is right?"
    assert question.gold.answers == ("Alien, Heat",)


# --- refusals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"ground_truth": "E"}, "ground_truth is 'E', not one of A, B, C, D"),
        ({"choices": {"A": "x", "B": "y", "C": "z"}}, "field 'D' is missing"),
        ({"choices": {"A": "x", "B": "y", "C": "z", "D": None}}, "expected text, a number or a list of them"),
        ({"target_step_id": [[1, 2, 3]]}, "[1, 2, 3] is neither a step nor [step, session]"),
        ({"target_step_id": ["one"]}, "one is neither a step nor [step, session]"),
        ({"time": "yesterday"}, "the time 'yesterday' is not like"),
        ({"time": "'2024-02-30 08:00' Friday"}, "is not like"),
        ({"question": " "}, "the text is empty"),
    ],
)
def test_questions_that_are_refused(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    assert says in refusal(one_file(tmp_path, membench_seen(["Hi."], membench_qa("x", **change))))


@pytest.mark.parametrize(
    ("messages", "says"),
    [
        ([], "message_list holds no message"),
        ([[]], "message_list holds no message"),
        ([{"mid": 0}], "its first message says nothing"),
        ([{"message": "Hi."}, {"user": "Hi.", "assistant": "Yes."}], "which is no message of observation"),
        ([{"message": "Hi."}, [{"message": "Hi."}]], "sessions and messages stand side by side"),
        ([{"message": 5}], "expected text, found a number"),
        ([{"message": " "}], "has no message that says anything"),
        ("Hi.", "expected a list, found text"),
    ],
)
def test_messages_that_are_refused(tmp_path: Path, messages: Any, says: str) -> None:
    assert says in refusal(one_file(tmp_path, {"tid": 0, "message_list": messages, "QA": membench_qa("x")}))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "truncated"),
        ('{"roles": [{"tid": 0', "truncated"),
        ('{"roles": [,]}', "is not valid JSON"),
        ('{"roles": 5}', "a value where a list belongs (roles)"),
        ('{"roles": []}', "holds no trajectory"),
        ('{"simples": {"roles": [1]}}', "the key 'simples' is no kind of question; there are simple"),
        ('{"a": {"b": {"c": [1]}}}', "nests lists under a/b/c"),
        ('{"roles": [5]}', "expected an object, found a number"),
        ("[" * 5000, "nested too deeply"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "simple.json"
    path.write_text(text, encoding="utf-8")
    assert says in refusal(harness_at(path))


def test_places_that_are_refused(tmp_path: Path) -> None:
    assert "clone https://github.com/import-myself/Membench" in refusal(build(HarnessConfig(name="membench")))  # type: ignore[arg-type]
    assert "there is no file or folder" in refusal(harness_at(tmp_path / "nowhere"))
    assert "holds neither FirstAgent/*.json" in refusal(harness_at(tmp_path))
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"roles": [membench_seen(["Hi."], membench_qa("x"))]}), encoding="utf-8")
    assert "the file name 'other' is no kind of question" in refusal(harness_at(other))
    wrong = tmp_path / "FirstAgent" / "simple.json"
    wrong.parent.mkdir()
    other.rename(wrong)
    assert "it is a trajectory of observation, but the file is FirstAgent's" in refusal(harness_at(wrong))
    pinned = {"path": str(wrong), "sha256": "0" * 64}
    assert "pins 0000" in refusal(build(HarnessConfig(name="membench", dataset=pinned)))  # type: ignore[arg-type]


def test_settings_that_are_refused(tmp_path: Path) -> None:
    for bad in ({"sample": 0}, {"noise": -1}, {"noises": 3}):
        with pytest.raises(ConfigError, match=r"harness\.settings\.nois|harness\.settings\.sample"):
            harness_at(tmp_path, **bad)


# --- sample and noise ----------------------------------------------------------------------------------------------


def test_a_sample_is_seeded_and_keeps_ids(tmp_path: Path) -> None:
    items = [membench_seen([f"I own {n} bikes."], membench_qa(f"{n} bikes"), tid=n) for n in range(20)]
    everything = by_name(one_file(tmp_path, *items, sample=None))
    some = by_name(one_file(tmp_path, *items, sample=5))
    assert len(everything) == 20
    assert len(some) == 5
    assert all(everything[name] == scenario for name, scenario in some.items())
    assert by_name(one_file(tmp_path, *items, sample=5)) == some
    assert by_name(one_file(tmp_path, *items, sample=5, seed=8)).keys() != some.keys()
    assert some.keys() < by_name(one_file(tmp_path, *items, sample=6)).keys()  # a larger sample holds the smaller


def two_topics(folder: Path) -> Path:
    """Twenty trajectories about people and twenty about places, of forty users."""
    roles = [membench_seen([f"My boss is {n}.", "It rains."], membench_qa(f"{n}"), tid=n) for n in range(20, 40)]
    places = [
        membench_seen([f"Room {n} is mine.", f"It is blue {n}."], membench_qa("blue"), tid=n) for n in range(60, 80)
    ]
    for item in places:
        item["message_list"][0]["rel"] = "room"
    path = folder / "simple.json"
    path.write_text(json.dumps({"roles": roles, "places": places}), encoding="utf-8")
    return path


def test_noise_is_of_others_and_tells_nothing(tmp_path: Path) -> None:
    path = two_topics(tmp_path)
    plain, noisy = (by_name(harness_at(path, sample=None, noise=noise)) for noise in (0, 6))
    assert by_name(harness_at(path, sample=None, noise=6)) == noisy
    for name, scenario in noisy.items():
        own = [event.text for event in plain[name].events]
        texts = [event.text for event in scenario.events]
        assert len(texts) == len(own) + 6
        assert [text for text in texts if text in own] == own  # in their order
        assert [event.id for event in scenario.events] == [f"m{n:05d}" for n in range(1, 9)]
        times = [event.time for event in scenario.events]
        assert None not in times
        assert times == sorted(times)
        assert times[-1] <= scenario.questions[0].now
        assert {event.session for event in scenario.events} == {"s01"}
        gold = scenario.questions[0].gold
        (found,) = (event for event in scenario.events if event.id in gold.evidence)
        assert found.text == own[0]
        others = [text for text in texts if text not in own]
        if "/roles/" in name:  # noise of the other topic only
            assert all(text.startswith(("Room", "It is blue")) for text in others)
        else:
            assert all(text.startswith(("My boss", "It rains")) for text in others)
    first = noisy["observation/simple/roles/0"]
    assert [event.text for event in first.events] != [
        event.text for event in noisy["observation/simple/roles/1"].events
    ]


def test_noise_never_holds_the_answer(tmp_path: Path) -> None:
    """My boss is 27; of three trajectories on places one says 27, one speaks of a boss, one is the same user's."""
    path = tmp_path / "simple.json"
    places = [
        membench_seen(["Room 27 is mine."], membench_qa("mine"), tid=1),
        membench_seen(["The boss has a room."], membench_qa("room"), tid=2),
        membench_seen(["I have a hut."], membench_qa("hut"), tid=0),
        membench_seen(["Room 270 is mine.", "It is green."], membench_qa("green"), tid=3),
    ]
    roles = [membench_seen(["My boss is 27."], membench_qa("27"), tid=0)]
    path.write_text(json.dumps({"roles": roles, "places": places}), encoding="utf-8")
    chosen = SliceConfig(questions=["observation/simple/roles/0"])
    (scenario,) = harness_at(path, sample=None, noise=2).load(chosen)
    texts = {event.text for event in scenario.events}
    assert texts == {"My boss is 27. (place: Oslo)", "Room 270 is mine. (place: Oslo)", "It is green. (place: Oslo)"}


def test_too_much_noise_is_refused(tmp_path: Path) -> None:
    message = refusal(harness_at(two_topics(tmp_path), noise=500))
    assert "can have 40 messages of other trajectories mixed in, not 500" in message
    alone = one_file(tmp_path, membench_seen(["Hi."], membench_qa("x")), noise=1)
    assert "can have 0 messages of other trajectories mixed in, not 1" in refusal(alone)


# --- scores --------------------------------------------------------------------------------------------------------


@pytest.fixture
def asked(tmp_path: Path) -> tuple[MemBench, Question]:
    harness = one_file(tmp_path, membench_seen(["My boss is 27.", "x", "y"], membench_qa("27", target_step_id=[0, 2])))
    return harness, next(harness.read()).questions[0]


@pytest.mark.parametrize(
    ("answer", "label", "reason"),
    [
        ("C", CORRECT, "said C, right is C"),
        ("(c)", CORRECT, "said C, right is C"),
        ("C. 27", CORRECT, "said C, right is C"),
        ('{"choice": "C"}', CORRECT, "said C, right is C"),
        ("A", WRONG, "said A, right is C"),
        ("C or D", WRONG, "names C and D"),
        ("27", WRONG, "names no letter"),
        ("", ABSTAIN, "no answer"),
        ("NOT MENTIONED", ABSTAIN, "explicit refusal"),
    ],
)
def test_the_letter_grades(asked: tuple[MemBench, Question], answer: str, label: str, reason: str) -> None:
    harness, question = asked
    graded = harness.grade(question, answer)
    assert (graded.value, graded.reason) == (label, reason)


def test_recall_is_the_share_of_targets(asked: tuple[MemBench, Question]) -> None:
    harness, question = asked
    hits = [Hit(key=name, text="", sources=(name,)) for name in ("m00002", "m00003")]
    metrics = harness.score_retrieval(question, hits)
    assert metrics["fraction@10"] == 0.5  # m00001 and m00003 are wanted
    assert metrics["fraction@1"] == 0
    assert metrics["mrr"] == 0.5
    assert harness.headline("recall") == "fraction@10"
    assert harness.headline("accuracy") == "accuracy_abstain_wrong"


def test_the_reader_sees_the_options_and_the_memory_does_not(asked: tuple[MemBench, Question]) -> None:
    harness, question = asked
    config = ModelConfig(name="fake", provider="fake", model="extractive", prompt="locomo_qa")
    shown = Reader(config, harness.prompts).request(question, "user: My boss is 27.").messages[-1]["content"]
    assert "C. 27\n" in shown
    assert "Wednesday, 2 October 2024, 09:00" in shown
    assert question.text == "What is right?"
    assert question.rule in harness.rules


@pytest.mark.parametrize(
    ("tokens", "bucket"),
    [(0, "<1k"), (999, "<1k"), (1000, "1k-2k"), (2000, "2k-4k"), (7999, "4k-8k"), (100_000, "64k-128k")],
)
def test_sizes_double(tokens: int, bucket: str) -> None:
    assert size(tokens) == bucket


def test_the_size_counts_noise(tmp_path: Path) -> None:
    long = "word " * 800  # 4,000 characters, 1,000 tokens
    roles, places = (
        [membench_seen([long + name], membench_qa("x y"), tid=tid)] for name, tid in (("roles", 1), ("places", 2))
    )
    path = tmp_path / "simple.json"
    path.write_text(json.dumps({"roles": roles, "places": places}), encoding="utf-8")
    for noise, bucket in ((0, "1k-2k"), (1, "2k-4k")):
        told = by_name(harness_at(path, noise=noise))["observation/simple/roles/0"].questions[0].tags["tokens"]
        assert told == bucket


# --- patches and counts --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["A", "SECRETCHOICE one"])
def test_a_patch_names_another_choice(tmp_path: Path, answer: str) -> None:
    patch = tmp_path / "patch.json"
    name = "observation/simple/roles/0"
    patch.write_text(
        json.dumps([{"id": name, "action": "fix", "reason": "read again", "answer": answer, "was": "27"}]),
        encoding="utf-8",
    )
    one_file(tmp_path, membench_seen(["My boss is 27."], membench_qa("27")))
    harness = harness_at(tmp_path / "simple.json", [str(patch)])
    question = next(harness.read()).questions[0]
    assert harness.grade(question, "A").value == CORRECT
    assert harness.grade(question, "C").value == WRONG
    assert harness.flags(question) == (GOLD_FIXED,)


def test_a_patch_may_name_a_question_that_the_sample_leaves_out(tmp_path: Path) -> None:
    names = [f"observation/simple/roles/{n}" for n in range(4)]
    items = [membench_seen([f"My boss is {n}."], membench_qa(f"{n}"), tid=n) for n in range(20, 24)]
    left_out = (set(names) - by_name(one_file(tmp_path, *items, sample=1)).keys()).pop()
    for name, known in ((left_out, True), ("observation/simple/roles/9", False)):
        patch = tmp_path / "patch.json"
        patch.write_text(json.dumps([{"id": name, "action": "exclude", "reason": "torn"}]), encoding="utf-8")
        harness = harness_at(tmp_path / "simple.json", [str(patch)], sample=1)
        if known:
            assert len(list(harness.read())) == 1
        else:
            assert "names question observation/simple/roles/9, which the data does not have" in refusal(harness)


def test_a_patch_that_names_no_choice_is_refused(tmp_path: Path) -> None:
    patch = tmp_path / "patch.json"
    patch.write_text(
        json.dumps([{"id": "observation/simple/roles/0", "action": "fix", "reason": "read again", "answer": "28"}]),
        encoding="utf-8",
    )
    one_file(tmp_path, membench_seen(["My boss is 27."], membench_qa("27")))
    assert "gives '28', which is not one of its choices" in refusal(harness_at(tmp_path / "simple.json", [str(patch)]))


def test_check_tells_counts_and_traps(tmp_path: Path) -> None:
    told = "\n".join(harness_at(membench_data(tmp_path), sample=2).check())
    for line in (
        "trajectories 7, each with one question; messages 16",
        "participation-reflective 1, participation-factual 3, observation-reflective 1, observation-factual 2",
        "participation/simple/roles 2",
        "tids 6, of which 1 stand in several places",
        "question without a target: 1 in 1 trajectories (participation/highlevel_rec/movie/0)",
        "targets that are no message of their trajectory: 1 (participation/simple/roles/1 [3, 1])",
        "questions without a resolvable target, no retrieval metric: 1",
        "question texts asked more than once: 1",
        "trajectories that stand twice, stream and question alike: 0",
        "asked: 6 (sample 2 a category, seed 7, noise 0 messages a stream)",
    ):
        assert line in told


def test_unknown_fields_are_told_and_not_read(tmp_path: Path) -> None:
    item = membench_seen(["Hi."], membench_qa("x", hint="SECRET"))
    item["message_list"][0]["summary"] = "SECRET"
    harness = one_file(tmp_path, item | {"plot": "SECRET"})
    (scenario,) = harness.read()
    assert scenario.events[0].text == "Hi. (place: Oslo)"
    told = "\n".join(harness.check())
    for field, of in (("summary", "message"), ("hint", "question"), ("plot", "trajectory")):
        assert f"unknown field '{field}' of a {of}, not read: 1 in 1" in told


def test_duplicates_are_told(tmp_path: Path) -> None:
    item = membench_seen(["Hi."], membench_qa("x"))
    told = "\n".join(one_file(tmp_path, item, item).check())
    assert "trajectories that stand twice, stream and question alike: 1" in told


def test_of_messages_that_share_a_time_each_is_as_likely_the_streams_own(tmp_path: Path) -> None:
    """Forty streams of one message and two others at its time: first, second and last about as often."""
    places = Counter(
        [event.id for event in scenario.events].index(scenario.questions[0].gold.evidence[0])
        for seed in range(15)
        for scenario in harness_at(two_topics(tmp_path), sample=None, noise=2, seed=seed).load(SliceConfig())
        if len({event.time for event in scenario.events[:3]}) == 1
        and scenario.events[3].time != scenario.events[2].time
    )
    total = places.total()
    assert total > 100
    # Multinomial with shares of a third: five standard deviations.
    assert all(abs(places[at] - total / 3) < 5 * (total * 2 / 9) ** 0.5 for at in range(3))


def test_seconds_count_and_a_leap_second_is_no_time(tmp_path: Path) -> None:
    item = membench_seen(["Hi.", "Ho."], membench_qa("x"))
    item["message_list"][0]["time"] = "'2024-10-01 08:00:59' Tuesday"
    item["message_list"][1]["time"] = "'2024-10-01 08:00:07' Tuesday"
    (scenario,) = one_file(tmp_path, item).load(SliceConfig())
    assert [event.text for event in scenario.events] == ["Ho. (place: Oslo)", "Hi. (place: Oslo)"]
    item["message_list"][0]["time"] = "'2024-10-01 08:00:60' Tuesday"
    assert "is not like" in refusal(one_file(tmp_path, item))
