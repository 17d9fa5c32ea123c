"""Bad and odd LoCoMo files, on small files written here: every one ends in one line that says what to do."""

from __future__ import annotations

import copy
import json
from datetime import datetime
from pathlib import Path

import pytest

from runner.config import HarnessConfig, SliceConfig
from runner.errors import ConfigError
from runner.harness import build
from tests.support.refusals import refusal

TINY = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bob",
            "session_10_date_time": "9:00 am on 3 March, 2024",
            "session_10": [{"speaker": "Ann", "dia_id": "D10:1", "text": "I sold the boat."}],
            "session_2_date_time": "1:56 pm on 8 May, 2023",
            "session_2": [
                {"speaker": "Ann", "dia_id": "D2:1", "text": "I have a boat."},
                {
                    "speaker": "Bob",
                    "dia_id": "D2:2",
                    "text": "Look!",
                    "img_url": ["https://example.org/SECRETURL.jpg"],
                    "blip_caption": "a photo of a red kite",
                    "query": "SECRETQUERY kite",
                    "re-download": True,
                },
            ],
            "session_3_date_time": "1:00 pm on 9 May, 2023",
        },
        "qa": [
            {"question": "What did Ann sell?", "answer": "a boat", "evidence": ["D10:01"], "category": 4},
            {"question": "How many?", "answer": 1, "evidence": ["D2:1; D10:1"], "category": 1},
            {"question": "What flew?", "answer": "a kite", "evidence": ["D:2:2", "D", "D9:9"], "category": 3},
            {
                "question": "What did Bob sell?",
                "adversarial_answer": "SECRETTRAP",
                "evidence": ["D10:1"],
                "category": 5,
            },
            {"question": "When?", "answer": "May", "evidence": [], "category": 2},
        ],
        "event_summary": {},
        "observation": {},
        "session_summary": {},
    }
]


@pytest.fixture
def tiny():
    return copy.deepcopy(TINY)


@pytest.fixture
def harness_of(tmp_path):
    def make(data, **more):
        file = tmp_path / "locomo.json"
        if isinstance(data, bytes):
            file.write_bytes(data)
        else:
            file.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
        dataset = {"path": str(file), "sha256": more.pop("sha256", None)}
        return build(HarnessConfig(name="locomo_qa", dataset=dataset, **more))

    return make


def test_sessions_in_numeric_order_and_now_is_the_last(harness_of, tiny):
    (scenario,) = harness_of(tiny).read()
    assert [event.id for event in scenario.events] == ["D2:1", "D2:2", "D10:1"]
    assert [event.session for event in scenario.events] == ["session_2", "session_2", "session_10"]
    assert scenario.events[0].time == scenario.events[1].time == datetime(2023, 5, 8, 13, 56)
    assert {question.now for question in scenario.questions} == {datetime(2024, 3, 3, 9)}
    assert scenario.cluster == "conv-1"


def test_captions_are_said_and_queries_are_not(harness_of, tiny):
    (scenario,) = harness_of(tiny).read()
    assert scenario.events[1].text == "Look! [shares a photo: a photo of a red kite]"
    assert "SECRET" not in repr(scenario.events)


def test_adversarial_answers_never_become_gold(harness_of, tiny):
    (scenario,) = harness_of(tiny).read()
    assert "SECRETTRAP" not in repr(scenario)
    assert scenario.questions[3].gold.abstain
    assert scenario.questions[3].gold.answers == ()


def test_evidence_is_repaired(harness_of, tiny):
    (scenario,) = harness_of(tiny).read()
    assert [question.gold.evidence for question in scenario.questions] == [
        ("D10:1",), ("D2:1", "D10:1"), ("D2:2",), ("D10:1",), ()
    ]  # fmt: skip
    assert scenario.questions[1].gold.answers == ("1",)
    told = "\n".join(harness_of(tiny).check())
    assert "evidence that names no turn after repair: 2 (conv-1/2 'D', conv-1/2 'D9:9')" in told
    assert "1 dates without a session" in told


def test_fork_is_refused_by_structure(harness_of, tiny):
    tiny[0]["qa"][3]["answer"] = tiny[0]["qa"][3].pop("adversarial_answer")
    assert "the fork that renames wrong answers into gold" in refusal(harness_of(tiny))
    pinned = refusal(harness_of(tiny, sha256="0" * 64))
    assert "fork" in pinned
    assert "0" * 64 in pinned


def test_category_5_answer_beside_the_adversarial_one_is_not_used(harness_of, tiny):
    tiny[0]["qa"][3]["answer"] = "No"
    (scenario,) = harness_of(tiny).read()
    assert scenario.questions[3].gold.answers == ()
    assert "1 carry an 'answer'" in "\n".join(harness_of(tiny).check())


def test_wrong_hash_tells_both_and_how_to_unpin(harness_of, tiny):
    import hashlib

    message = refusal(harness_of(tiny, sha256="a" * 64))
    assert "a" * 64 in message
    assert hashlib.sha256(json.dumps(tiny).encode()).hexdigest() in message
    assert "harness.dataset.sha256=null" in message


def test_unpinned_is_recorded(harness_of, tiny):
    info = harness_of(tiny).dataset()
    assert not info.pinned
    assert len(info.sha256) == 64


def change(path, value):
    def apply(data):
        at = data
        for key in path[:-1]:
            at = at[key]
        if value is ...:
            del at[path[-1]]
        else:
            at[path[-1]] = value

    return apply


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (change([0, "qa", 0, "category"], 6), "unknown category 6"),
        (change([0, "qa", 0, "category"], "4"), "unknown category '4'"),
        (change([0, "qa", 0, "category"], True), "unknown category True"),
        (change([0, "qa", 0, "hint"], "x"), "unknown field 'hint'"),
        (change([0, "qa", 0, "answer"], ...), "field 'answer' is missing"),
        (change([0, "qa", 0, "answer"], None), "expected text, found null"),
        (change([0, "qa", 0, "answer"], 1.5), "expected text, found a number"),
        (change([0, "qa", 0, "adversarial_answer"], "x"), "category 4 has an 'adversarial_answer'"),
        (change([0, "qa", 0, "evidence"], "D2:1"), "expected a list, found text"),
        (change([0, "qa", 0], 3), "expected an object, found a number"),
        (change([0, "extra"], 3), "unknown field 'extra'"),
        (change([0, "qa"], ...), "field 'qa' is missing"),
        (change([0, "sample_id"], "a/b"), "with '/'"),
        (change([0, "conversation", "session_x"], []), "unknown field 'session_x'"),
        (change([0, "conversation", "session_2_date_time"], ...), "'session_2_date_time' is missing"),
        (change([0, "conversation", "session_2_date_time"], "8 May 2023"), "is not like '1:56 pm on 8 May, 2023'"),
        (change([0, "conversation", "session_2", 0, "mood"], "x"), "unknown field 'mood'"),
        (change([0, "conversation", "session_2", 0, "text"], ...), "field 'text' is missing"),
        (change([0, "conversation", "session_2", 0, "dia_id"], "D3:1"), "not of the form D2:N"),
        (change([0, "conversation", "session_2", 0, "dia_id"], "D2:2"), "two turns share the id D2:2"),
    ],
)
def test_what_is_not_understood_is_refused(harness_of, tiny, edit, says):
    edit(tiny)
    message = refusal(harness_of(tiny))
    assert says in message
    assert "harness.dataset.path=FILE" in message


def test_two_conversations_of_one_id(harness_of, tiny):
    assert "2 conversations share the id 'conv-1'" in refusal(harness_of([*tiny, *tiny]))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (json.dumps(TINY)[:400], "is truncated"),
        (json.dumps(TINY)[:-1], "is truncated"),
        ("[{'a': 1}]", "is not valid JSON"),
        ("[NaN]", "is not valid JSON"),
        ("", "is empty"),
        (b"[\"\xff\xfe\"]", "is not UTF-8"),
        ("{}", "expected a list, found an object"),
        ("[]", "holds no conversation"),
        ("[1]", "expected an object, found a number"),
        ("[" * 100_000, "nested too deeply"),
    ],
)  # fmt: skip
def test_damaged_files(harness_of, data, says):
    assert says in refusal(harness_of(data))


def test_pinned_and_truncated_says_both(harness_of):
    message = refusal(harness_of(json.dumps(TINY)[:400], sha256="b" * 64))
    assert "is truncated" in message
    assert "b" * 64 in message


def test_missing_file_and_folder(tmp_path):
    for path, says in ((tmp_path / "none.json", "there is no file"), (tmp_path, "is a folder")):
        harness = build(HarnessConfig(name="locomo_qa", dataset={"path": str(path)}))
        message = refusal(harness)
        assert says in message
        assert "harness.dataset.path=" in message


def test_category_names_ids_and_aliases(harness_of, tiny):
    harness = harness_of(tiny)
    for names, wanted in (
        (["multi-hop"], {"1"}),
        (["single", "adv"], {"4", "5"}),
        ([1, "open", "Temporal"], {"1", "2", "3"}),
        (["single_hop"], {"4"}),
    ):
        (scenario,) = harness.load(SliceConfig(categories=names))
        assert {question.category for question in scenario.questions} == wanted
    with pytest.raises(ConfigError, match="no category 'hard'; it has 1 multi-hop"):
        list(harness.load(SliceConfig(categories=["hard"])))


# --- gold patches --------------------------------------------------------------------------------------------------


def patched(harness_of, tiny, tmp_path: Path, text: str, name: str = "patch.yaml"):
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return harness_of(tiny, patches=[str(file)])


PATCH = """
- {id: conv-1/0, action: fix, answer: the boat, reason: as said}
- {id: conv-1/1, action: fix, evidence: ["D2:1"], reason: cites too much}
- {id: conv-1/2, action: exclude, reason: cannot be known}
"""


def test_project_patch_fixes_and_excludes(harness_of, tiny, tmp_path):
    harness = patched(harness_of, tiny, tmp_path, PATCH)
    (scenario,) = harness.read()
    fixed, cited, excluded, trap, _ = scenario.questions
    assert fixed.gold.answers == ("the boat",)
    assert cited.gold.evidence == ("D2:1",)
    assert excluded.gold.answers == ("a kite",)  # asked and scored as published
    assert [harness.flags(q) for q in (fixed, cited, excluded, trap)] == [
        ("gold_fixed",), ("gold_fixed",), ("gold_excluded",), ()
    ]  # fmt: skip
    report = harness.patch_report()
    assert report.comparable.total() == 4
    assert (report.excluded.total(), report.evidence_fixed.total(), report.answer_fixed.total()) == (1, 1, 1)
    assert report.ceiling == 0.5  # one excluded, one with another answer, of four
    assert len(harness.dataset().patches) == 64
    # a hit on the evidence that the patch took away
    from runner.types import Hit

    metrics = harness.score_retrieval(cited, [Hit(key="x", text="", sources=("D10:1",))])
    assert metrics["recall@10"] == 0
    assert metrics["published_recall@10"] == 1
    assert metrics["published_fraction@10"] == 0.5


def test_without_patches_nothing_is_said_of_them(harness_of, tiny):
    harness = harness_of(tiny)
    (scenario,) = harness.read()
    assert harness.patch_report() is None
    assert harness.dataset().patches == ""
    assert harness.flags(scenario.questions[0]) == ()
    assert not any(name.startswith("published") for name in harness.score_retrieval(scenario.questions[0], []))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{}", "must be a list"),
        ("- 3", "expected a mapping"),
        ("- {id: conv-1/0, action: drop, reason: x}", "action"),
        ("- {id: conv-1/0, action: fix, reason: x}", "a fix needs an answer or evidence"),
        ("- {id: conv-1/0, action: exclude, answer: x, reason: x}", "takes no answer"),
        ("- {id: conv-1/0, action: exclude}", "reason: is missing"),
        ("- {id: conv-1/0, action: exclude, reason: x, note: y}", "no such key"),
        ("- {id: conv-1/99, action: exclude, reason: x}", "which the data does not have"),
        ("- {id: conv-1/0, action: fix, evidence: ['D7:7'], reason: x}", "is no event of conv-1"),
        ("- {id: conv-1/3, action: fix, answer: x, reason: x}", "whose gold is to abstain"),
        ("- {id: conv-1/0, action: exclude, reason: x}\n- {id: conv-1/0, action: exclude, reason: x}", "patched twice"),
        ("- !!python/object/apply:os.system [echo]", "cannot be parsed"),
        ("a: [", "cannot be parsed"),
    ],
)
def test_bad_patches(harness_of, tiny, tmp_path, text, says):
    assert says in refusal(patched(harness_of, tiny, tmp_path, text))


def test_a_patch_that_is_not_there(harness_of, tiny, tmp_path):
    assert "cannot read the gold patch" in refusal(harness_of(tiny, patches=[str(tmp_path / "none.json")]))


def test_audit_patch_written_for_other_data(harness_of, tiny, tmp_path):
    entry = {"question_id": "locomo_0_qa0", "error_type": "HALLUCINATION", "question": "Another?",
             "golden_answer": "a boat", "correct_evidence": [], "reasoning": "…"}  # fmt: skip
    harness = patched(harness_of, tiny, tmp_path, json.dumps([entry]), "errors.json")
    assert "was written for another question" in refusal(harness)
    entry["question"], entry["golden_answer"] = "What did Ann sell?", "a ship"
    harness = patched(harness_of, tiny, tmp_path, json.dumps([entry]), "errors.json")
    assert "another published answer" in refusal(harness)
    entry["golden_answer"], entry["error_type"] = "a boat", "OTHER"
    harness = patched(harness_of, tiny, tmp_path, json.dumps([entry]), "errors.json")
    assert "error_type" in refusal(harness)
