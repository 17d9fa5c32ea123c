"""Dialogue NLI, on small files in the published layout: what is remembered, and how a label is graded."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from runner.config import HarnessConfig, SliceConfig
from runner.errors import ConfigError, DatasetError
from runner.harness import build
from runner.harness.dialogue_consistency import DialogueConsistency
from runner.types import ABSTAIN, CORRECT, GOLD_FIXED, WRONG, Hit, Scenario
from tests.support.harness_samples.dialogue_consistency import dialogue_pair, dialogue_pairs
from tests.support.refusals import refusal

NAME = "dialogue_nli_test.jsonl"


def harness_at(path: Path, patches: list[str] | None = None, **settings: Any) -> DialogueConsistency:
    dataset = {"path": str(path), "sha256": None}
    settings = {"distractors": 2, "sample": None} | settings
    harness = build(
        HarnessConfig(name="dialogue_consistency", dataset=dataset, patches=patches or [], settings=settings)
    )
    assert isinstance(harness, DialogueConsistency)
    return harness


def written(folder: Path, data: Any, name: str = NAME) -> Path:
    path = folder / name
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


def by_name(harness: DialogueConsistency) -> dict[str, Scenario]:
    return {scenario.questions[0].id.rpartition("_")[2]: scenario for scenario in harness.load(SliceConfig())}


def test_a_pair_is_a_premise_among_others(tmp_path: Path) -> None:
    scenarios = by_name(harness_at(written(tmp_path, dialogue_pairs())))
    labels = {name: scenario.questions[0].category for name, scenario in scenarios.items()}
    assert labels == {
        "1": "entailment",
        "2": "contradiction",
        "3": "neutral",
        "4": "contradiction",
        "5": "entailment",
        "6": "neutral",
    }
    first = scenarios["1"]
    question = first.questions[0]
    assert question.text == "i have a dog ."
    assert question.gold.answers == ("entailment",)
    assert [event.id for event in first.events] == ["e00001", "e00002", "e00003"]
    (found,) = (event for event in first.events if event.id in question.gold.evidence)
    assert found.text == "i walk my dog daily ."
    assert {event.actor for event in first.events} == {"speaker"}
    # pairs 1 and 4 share their premise
    assert first.cluster == scenarios["4"].cluster != scenarios["2"].cluster
    assert question.prompt == "judge/rubrics/entailment"


def test_distractors_leave_the_label_right(tmp_path: Path) -> None:
    path = written(tmp_path, dialogue_pairs())
    # Of the premises, "how are you today ?" states nothing that is known, and so never distracts.
    allowed = {
        "1": {"i cook for a living .", "soup is the best .", "oslo is home to me ."},
        "3": {"i walk my dog daily .", "i cook for a living ."},  # neither soup nor oslo
        "5": {"i walk my dog daily .", "i cook for a living .", "soup is the best ."},
        # what 6 is about is known by half: no shared word of four letters either; all four are free of "today", "drive"
        "6": {"i walk my dog daily .", "i cook for a living .", "soup is the best .", "oslo is home to me ."},
    }
    seen: dict[str, set[str]] = {name: set() for name in allowed}
    for seed in range(12):
        for name, scenario in by_name(harness_at(path, seed=seed)).items():
            (evidence,) = scenario.questions[0].gold.evidence
            others = {event.text for event in scenario.events if event.id != evidence}
            assert len(others) == 2
            if name in allowed:
                assert others <= allowed[name]
                seen[name] |= others
    assert seen == allowed


def test_what_is_unknown_is_kept_apart_by_words(tmp_path: Path) -> None:
    rows = dialogue_pairs()
    rows[5]["sentence2"] = "i cook soup daily ."
    scenario = by_name(harness_at(written(tmp_path, rows), distractors=1))["6"]
    assert {event.text for event in scenario.events} == {"how are you today ?", "oslo is home to me ."}
    assert "can have 1 distractors that leave its label right, not 2" in refusal(harness_at(tmp_path / NAME))


def test_the_order_is_seeded_and_tells_nothing(tmp_path: Path) -> None:
    rows = [
        dialogue_pair(n, "neutral", f"fact {n} .", f"claim {n} .", ["i", f"r{n}", f"o{n}"], ["i", f"s{n}", f"p{n}"])
        for n in range(60)
    ]
    path = written(tmp_path, rows)
    scenarios = by_name(harness_at(path, distractors=2))
    assert by_name(harness_at(path, distractors=2)) == scenarios
    assert by_name(harness_at(path, distractors=2, seed=8)) != scenarios
    places = Counter(scenario.questions[0].gold.evidence[0] for scenario in scenarios.values())
    assert set(places) == {"e00001", "e00002", "e00003"}
    assert max(places.values()) < 40  # twenty each on average


def test_a_sample_takes_each_label_by_its_share(tmp_path: Path) -> None:
    rows = [
        dialogue_pair(n, label, f"fact {n} .", f"claim {n} .", ["i", f"r{n}", f"o{n}"], ["i", f"s{n}", f"p{n}"])
        for n, label in enumerate(["positive"] * 30 + ["neutral"] * 20 + ["negative"] * 10)
    ]
    path = written(tmp_path, rows)
    everything = by_name(harness_at(path))
    some = by_name(harness_at(path, sample=12))
    assert Counter(s.questions[0].category for s in some.values()) == {
        "entailment": 6,
        "neutral": 4,
        "contradiction": 2,
    }
    assert all(everything[name] == scenario for name, scenario in some.items())
    assert by_name(harness_at(path, sample=12, seed=8)).keys() != some.keys()


def test_archive_folder_list_and_lines_are_one_dataset(tmp_path: Path) -> None:
    rows = dialogue_pairs()
    (tmp_path / "dnli" / "dialogue_nli").mkdir(parents=True)
    path = written(tmp_path / "dnli" / "dialogue_nli", rows)
    whole = harness_at(path)
    with zipfile.ZipFile(tmp_path / "dnli.zip", "w") as archive:
        archive.write(path, f"dnli/dialogue_nli/{NAME}")
    lines = written(tmp_path, "\n".join(json.dumps(row) for row in rows) + "\n", "lines.jsonl")
    with zipfile.ZipFile(tmp_path / "lines.zip", "w") as archive:
        archive.write(lines, NAME)
    expected = by_name(whole)
    for place in ("dnli.zip", "dnli", "dnli/dialogue_nli", ".", "lines.jsonl", "lines.zip"):
        assert by_name(harness_at(tmp_path / place)) == expected
    assert harness_at(tmp_path / "dnli.zip").dataset() == whole.dataset()
    with pytest.raises(DatasetError, match=r"holds no dialogue_nli_dev\.jsonl"):
        harness_at(tmp_path / "dnli.zip", split="dev").dataset()
    with pytest.raises(DatasetError, match=r"holds no dialogue_nli_dev\.jsonl"):
        harness_at(tmp_path, split="dev").dataset()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"label": "maybe"}, "pair 0: unknown label 'maybe'; there are positive, neutral, negative"),
        ({"label": 1}, "unknown label '1'"),
        ({"sentence1": " "}, "pair 0, sentence1: the text is empty"),
        ({"triple1": ["i", "like"]}, "pair 0, triple1: expected [subject, relation, object]"),
        ({"triple2": "i like soup"}, "pair 0, triple2: expected a list, found text"),
        ({"id": None}, "pair 0, id: expected text, found null"),
        ({"source": "x"}, "pair 0: unknown field 'source'"),
    ],
)
def test_pairs_that_are_refused(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    assert says in refusal(harness_at(written(tmp_path, [dialogue_pairs()[0] | change])))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("[]", "holds no pair"),
        ("[1]", "expected an object, found a number"),
        ('[{"label": "pos', "truncated"),
        ('{"label": "positive"', "truncated"),
        ('"text"', "does not begin as a JSON list"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, text: str, says: str) -> None:
    assert says in refusal(harness_at(written(tmp_path, text)))


def test_places_and_settings_that_are_refused(tmp_path: Path) -> None:
    bare = build(HarnessConfig(name="dialogue_consistency"))
    with pytest.raises(DatasetError, match=r"get the archive from https://wellecks\.com/dialogue_nli"):
        list(bare.read())
    assert "there is no file or folder" in refusal(harness_at(tmp_path / "nowhere"))
    broken = tmp_path / "broken.zip"
    with zipfile.ZipFile(broken, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(NAME, json.dumps(dialogue_pairs()))
    data = bytearray(broken.read_bytes())
    data[60:90] = bytes(30)
    broken.write_bytes(bytes(data))
    assert "cannot read the archive" in refusal(harness_at(broken))
    path = written(tmp_path, dialogue_pairs())
    pinned = {"path": str(path), "sha256": "0" * 64}
    with pytest.raises(DatasetError, match="pins 0000"):
        build(HarnessConfig(name="dialogue_consistency", dataset=pinned)).dataset()
    for bad in ({"split": "valid"}, {"sample": 2}, {"distractors": -1}):
        with pytest.raises(ConfigError, match=r"harness\.settings\."):
            harness_at(path, **bad)


# --- scores --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "label", "reason", "said"),
    [
        ("contradiction", CORRECT, "said contradiction, right is contradiction", "contradiction"),
        ("It contradicts the premise.", CORRECT, "said contradiction, right is contradiction", "contradiction"),
        ("neutral", WRONG, "said neutral, right is contradiction", "neutral"),
        ("entailment or contradiction", WRONG, "names entailment and contradiction", ""),
        ("no", WRONG, "names no label", ""),
        ("NOT MENTIONED", ABSTAIN, "explicit refusal", ""),
        (" ", ABSTAIN, "no answer", ""),
    ],
)
def test_the_label_grades(tmp_path: Path, answer: str, label: str, reason: str, said: str) -> None:
    harness = harness_at(written(tmp_path, dialogue_pairs()))
    question = by_name(harness)["2"].questions[0]
    graded = harness.grade(question, answer)
    assert (graded.value, graded.reason) == (label, reason)
    names = ("entailment", "neutral", "contradiction")
    assert harness.score_answer(question, answer) == {f"said_{name}": float(name == said) for name in names}


def test_recall_is_of_the_premise(tmp_path: Path) -> None:
    harness = harness_at(written(tmp_path, dialogue_pairs()))
    scenario = by_name(harness)["2"]
    (right,) = scenario.questions[0].gold.evidence
    wrong = next(event.id for event in scenario.events if event.id != right)
    metrics = harness.score_retrieval(
        scenario.questions[0], [Hit(key=name, text="", sources=(name,)) for name in (wrong, right)]
    )
    assert (metrics["recall@1"], metrics["recall@5"], metrics["mrr"]) == (0, 1, 0.5)


def test_aliases_are_the_published_spelling(tmp_path: Path) -> None:
    harness = harness_at(written(tmp_path, dialogue_pairs()))
    (one, two) = harness.load(SliceConfig(categories=["negative"]))
    assert {one.questions[0].id, two.questions[0].id} == {"dialogue_nli_test_2", "dialogue_nli_test_4"}


# --- patches and counts --------------------------------------------------------------------------------------------


def test_a_patch_changes_a_label(tmp_path: Path) -> None:
    patch = tmp_path / "patch.json"
    fix = {"id": "dialogue_nli_test_2", "action": "fix", "answer": "neutral", "reason": "cooks may nurse"}
    path = written(tmp_path, dialogue_pairs())
    patch.write_text(json.dumps([fix]), encoding="utf-8")
    harness = harness_at(path, [str(patch)])
    question = by_name(harness)["2"].questions[0]
    assert harness.grade(question, "neutral").value == CORRECT
    assert question.category == "neutral"
    assert harness.flags(question) == (GOLD_FIXED,)
    patch.write_text(json.dumps([fix | {"answer": "maybe"}]), encoding="utf-8")
    assert "gives 'maybe', which is none of entailment, neutral, contradiction" in refusal(
        harness_at(path, [str(patch)])
    )


def test_check_tells_counts_and_traps(tmp_path: Path) -> None:
    rows = dialogue_pairs()
    dog = ["i", "have_pet", "dog"]
    rows += [
        rows[0],  # once more, under the same id
        rows[0] | {"id": "x", "label": "neutral"},  # with another label
        dialogue_pair(9, "negative", "i have a dog .", "i walk my dog daily .", dog, dog),  # the other way round
        dialogue_pair(10, "positive", "i am me .", "i am me .", dog, dog),
    ]
    told = "\n".join(harness_at(written(tmp_path, rows), sample=5).check())
    for line in (
        "pairs 10: entailment 4, neutral 3, contradiction 3",
        "labels as the file spells them: negative 3, neutral 3, positive 4",
        "SECRETRULE_positive (entailment) 4",
        "asked: 5 (sample 5, seed 7, distractors 2): entailment 2, neutral 1, contradiction 2",
        "of which it is not known what both sentences state, label kept right by words: 1",
        "pairs of two equal sentences: 1",
        "pairs that stand more than once: 2; of them with two labels: 1",
        "pairs that stand the other way round with another label: 1",
        "ids that stand twice, told apart by /2: 1 (dialogue_nli_test_1/2)",
    ):
        assert line in told
