"""MuSiQue files written here: what is scored, what is drawn, what is told of traps, and what is refused."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from runner.config import HarnessConfig, SliceConfig
from runner.errors import DatasetError
from runner.harness import build
from runner.harness.musique import MuSiQue
from runner.types import GOLD_EXCLUDED, GOLD_FIXED, Hit, Question, Scenario
from tests.support.harness_samples.musique import musique_row
from tests.support.refusals import refusal

NOTHING = "NOT MENTIONED"


@pytest.fixture
def harness_of(tmp_path: Path):
    def make(data: Any, *, sha256: str | None = None, patches: list[str] | None = None, **settings: Any) -> MuSiQue:
        file = tmp_path / "musique.jsonl"
        text = data if isinstance(data, str) else "".join(f"{json.dumps(row)}\n" for row in data)
        file.write_bytes(data if isinstance(data, bytes) else text.encode())
        dataset = {"path": str(file), "sha256": sha256}
        harness = build(HarnessConfig(name="musique", dataset=dataset, patches=patches or [], settings=settings, k=5))
        assert isinstance(harness, MuSiQue)
        return harness

    return make


@pytest.fixture
def pair(harness_of):
    """The harness and the two questions of one pair, the answerable one first."""
    harness = harness_of([musique_row(answerable=False), musique_row()], set="full")
    blind, seen = (scenario.questions[0] for scenario in harness.read())
    return harness, seen, blind


def only(harness: MuSiQue) -> Question:
    (scenario,) = harness.read()
    (question,) = scenario.questions
    return question


def titles(scenario: Scenario) -> list[str]:
    return [event.title for event in scenario.events]


# --- what is told to a memory --------------------------------------------------------------------------------------


def test_paragraphs_are_documents_without_a_time(harness_of) -> None:
    (scenario,) = harness_of([musique_row()]).read()
    assert {event.kind for event in scenario.events} == {"doc"}
    assert all(event.time is None and event.actor == "" for event in scenario.events)
    assert sorted(titles(scenario)) == ["Mira Stone", "Red Door", "The Green Door", "Varnish"]
    stone = next(event for event in scenario.events if event.title == "Mira Stone")
    assert stone.text == "Mira Stone\nMira Stone was born in Varn."
    question = scenario.questions[0]
    held = {event.id: event.title for event in scenario.events}
    assert sorted(held[name] for name in question.gold.evidence) == ["Mira Stone", "The Green Door"]
    assert question.gold.answers == ("Varn", "SECRETALIAS", "the Varn")
    assert (question.id, scenario.cluster, question.category) == ("2hop__11_22", "2hop__11_22", "2hop")
    assert question.tags == {"composition": "2hop", "answerable": "yes"}
    assert (question.now, question.prompt, question.rule, question.rubric) == (None, "musique", "exact_match", "")


def test_neither_place_nor_name_tells_what_matters(harness_of) -> None:
    row = musique_row()
    turned = row | {"paragraphs": [item | {"idx": at} for at, item in enumerate(reversed(row["paragraphs"]))]}
    (one,) = harness_of([row]).read()
    (other,) = harness_of([turned]).read()
    assert one == other, "the order of the file does not show"
    assert [event.id for event in one.events] == ["p01", "p02", "p03", "p04"]


def test_the_question_alone_is_searched_with(harness_of) -> None:
    question = only(harness_of([musique_row()]))
    assert question.text == "Where was the maker of The Green Door born?"
    assert question.reading == ""


# --- pairs ---------------------------------------------------------------------------------------------------------


def test_a_pair_is_two_scenarios_of_one_cluster(harness_of) -> None:
    rows = [musique_row(answerable=False), musique_row("3hop1__1_2_3"), musique_row()]
    scenarios = list(harness_of([*rows, musique_row("3hop1__1_2_3", answerable=False)], set="full").read())
    assert [scenario.cluster for scenario in scenarios] == ["2hop__11_22", "3hop1__1_2_3"] * 2
    assert len({scenario.id for scenario in scenarios}) == 4
    assert len({scenario.questions[0].id for scenario in scenarios}) == 4
    golds = [scenario.questions[0].gold for scenario in scenarios]
    assert [gold.abstain for gold in golds] == [True, False, False, True]
    assert [bool(gold.evidence) for gold in golds] == [False, True, True, False]
    assert [scenario.questions[0].tags["answerable"] for scenario in scenarios] == ["no", "yes", "yes", "no"]
    for scenario in scenarios:
        assert not any(word in scenario.id for word in ("hop", "yes", "no", "answer"))


def test_the_names_of_a_pair_do_not_depend_on_which_stands_first(harness_of) -> None:
    rows = [musique_row(), musique_row(answerable=False)]
    there, back = (list(harness_of(data, set="full").read()) for data in (rows, rows[::-1]))
    assert there == back[::-1]


@pytest.mark.parametrize(
    ("rows", "settings", "says"),
    [
        ([musique_row()], {"set": "full"}, ["1 of 1 ids", "2hop__11_22, with 1", "harness.settings.set=answerable"]),
        ([musique_row(), musique_row(question="Again?", paragraphs=musique_row()["paragraphs"][:3])], {"set": "full"},
         ["1 of 1 ids have not exactly two rows", "with 2"]),
        ([musique_row(), musique_row()], {"set": "full"}, ["two rows of 2hop__11_22 have the same paragraphs"]),
        ([musique_row(), musique_row(answerable=False)], {},
         ["has an unanswerable row", "harness=musique_full", "harness.settings.set=full"]),
        ([musique_row(), musique_row(paragraphs=musique_row()["paragraphs"][:3])], {},
         ["stands 2 times in the answerable set"]),
    ],
)  # fmt: skip
def test_rows_that_are_not_those_of_the_set(harness_of, rows: Any, settings: Any, says: list[str]) -> None:
    message = refusal(harness_of(rows, **settings))
    for part in says:
        assert part in message


# --- scores --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "em", "f1", "label"),
    [
        ("Varn", 1, 1, "CORRECT"),
        ("The VARN.", 1, 1, "CORRECT"),  # case, article and full stop are normalised away
        ("secretalias", 1, 1, "CORRECT"),
        ("in Varn", 0, 2 / 3, "WRONG"),  # one word of two, all of the gold: 2 · ½ · 1 / (½ + 1)
        ("the town of Varn in the north", 0, 1 / 3, "WRONG"),  # town of varn in north: 2 · ⅕ · 1 / (⅕ + 1)
        ("Oslo", 0, 0, "WRONG"),
        ("", 0, 0, "WRONG"),
        (NOTHING, 0, 0, "ABSTAIN"),
        ("Not mentioned, but perhaps Varn", 0, 1 / 3, "WRONG"),  # goes on after the refusal: 2 · ⅕ · 1 / (⅕ + 1)
    ],
)
def test_an_answer_against_its_best_alias(harness_of, answer: str, em: float, f1: float, label: str) -> None:
    harness = harness_of([musique_row()])
    question = only(harness)
    assert harness.score_answer(question, answer) == {"answer_em": em, "answer_f1": pytest.approx(f1)}
    assert harness.grade(question, answer).value == label


def test_a_pair_is_scored_by_what_each_of_its_rows_saw(pair) -> None:
    harness, seen, blind = pair
    # Answered where it can be: one word of two (F1 ⅔). Declined where it cannot be.
    told = {"answer_em": 0, "answer_f1": pytest.approx(2 / 3), "sufficiency": 1}
    assert harness.score_answer(seen, "in Varn") == told | {"answer_sufficiency_f1": pytest.approx(2 / 3)}
    none = {"answer_em": None, "answer_f1": None}
    assert harness.score_answer(blind, NOTHING) == none | {"sufficiency": 1, "answer_sufficiency_f1": 1}
    # The other way round.
    lost = {"answer_em": 0, "answer_f1": 0, "sufficiency": 0, "answer_sufficiency_f1": 0}
    assert harness.score_answer(seen, NOTHING) == lost
    assert harness.score_answer(blind, "Varn") == none | {"sufficiency": 0, "answer_sufficiency_f1": 0}
    assert [harness.grade(blind, answer).value for answer in (NOTHING, "Varn", "")] == ["CORRECT", "WRONG", "WRONG"]


def test_headlines(harness_of) -> None:
    answerable, full = harness_of([musique_row()]), harness_of([musique_row()], set="full")
    assert [answerable.headline(axis) for axis in ("recall", "accuracy")] == ["fraction@5", "answer_f1"]
    assert [full.headline(axis) for axis in ("recall", "accuracy")] == ["fraction@5", "group_answer_sufficiency_f1"]


def test_support_is_what_was_delivered(harness_of) -> None:
    harness = harness_of([musique_row()])
    (scenario,) = harness.read()
    question = scenario.questions[0]
    named = {event.title: event.id for event in scenario.events}

    def told(*found: str) -> dict[str, float | None]:
        hits = [Hit(key=title, text="", sources=(named[title],)) for title in found]
        return harness.score_retrieval(question, hits)

    metrics = told("Varnish", "Mira Stone", "Red Door")
    assert metrics["support_f1@all"] == pytest.approx(2 / 5)  # one of three found, one of two wanted
    assert metrics["fraction@5"] == 0.5
    assert metrics["fraction@1"] == 0
    assert metrics["mrr"] == 0.5
    both = told("The Green Door", "Mira Stone")
    assert both["support_f1@all"] == both["recall_all@5"] == 1
    assert told()["support_f1@all"] == 0
    merged = harness.score_retrieval(question, [Hit(key="m", text="", sources=tuple(named.values()))])
    assert merged["support_f1@all"] == pytest.approx(2 * 2 / (4 + 2))
    blind = harness.score_retrieval(question, [Hit(key="b", text="", sources=None)])
    assert blind["support_f1@all"] is None


def test_support_of_what_cannot_be_answered_is_not_measured(pair) -> None:
    harness, _, blind = pair
    assert set(harness.score_retrieval(blind, [Hit(key="a", text="", sources=("p01",))]).values()) == {None}


def test_a_judge_may_grade_instead(harness_of) -> None:
    harness = harness_of([musique_row()], grading="judge")
    question = only(harness)
    assert (question.rule, question.prompt) == ("", "musique")
    assert harness.score_answer(question, "Varn") == {"answer_em": 1, "answer_f1": 1}
    assert harness.census(SliceConfig()).judged == 1
    assert harness_of([musique_row()]).census(SliceConfig()).judged == 0


# --- samples -------------------------------------------------------------------------------------------------------

NAMES = [*(f"2hop__{n}_1" for n in range(50)), *(f"3hop1__{n}_1_1" for n in range(30)), *(f"4hop2__{n}_1" for n in range(20))]  # fmt: skip  # noqa: E501


def drawn(harness: MuSiQue) -> list[str]:
    return [scenario.cluster for scenario in harness.read()]


def test_a_sample_has_the_hops_of_the_whole_whatever_the_order(harness_of) -> None:
    rows = [musique_row(name) for name in NAMES]
    found = drawn(harness_of(rows, sample=10))
    assert Counter(name[:4] for name in found) == {"2hop": 5, "3hop": 3, "4hop": 2}
    assert found == [name for name in NAMES if name in found], "in the order of the file"
    assert sorted(drawn(harness_of(rows[::-1], sample=10))) == sorted(found)
    assert set(found) < set(drawn(harness_of(rows, sample=20))), "a larger sample holds a smaller one"
    assert set(drawn(harness_of(rows, sample=10, seed=8))) != set(found)
    assert drawn(harness_of(rows, sample=100)) == NAMES


def test_a_sample_over_all_alike(harness_of) -> None:
    rows = [musique_row(name) for name in NAMES]
    found = drawn(harness_of(rows, sample=10, stratify="none"))
    least = sorted(NAMES, key=lambda name: hashlib.sha256(f"7:{name}".encode()).hexdigest())[:10]
    assert sorted(found) == sorted(least)


def test_pairs_stay_whole(harness_of) -> None:
    rows = [musique_row(name, answerable=bool(twin)) for twin in (0, 1) for name in NAMES]
    harness = harness_of(rows, set="full", sample=10)
    found = Counter(drawn(harness))
    assert len(found) == 10
    assert set(found.values()) == {2}
    assert any("sample 10 of pairs, seed 7: questions 20 (2hop 10, 3hop1 6" in line for line in harness.check())


def test_a_sample_of_more_than_there_is(harness_of) -> None:
    assert "harness.settings.sample is 3, and the data has 1 questions" in refusal(
        harness_of([musique_row()], sample=3)
    )


# --- patches -------------------------------------------------------------------------------------------------------


def test_patches_fix_and_exclude_outside_the_sample_too(harness_of, tmp_path: Path) -> None:
    patch = tmp_path / "patch.yaml"
    patch.write_text(
        "- {id: 2hop__0_1, action: fix, answer: Oslo, evidence: [p01], reason: misread}\n"
        "- {id: 2hop__1_1, action: exclude, reason: ambiguous}\n"
    )
    rows = [musique_row(f"2hop__{n}_1") for n in range(4)]
    harness = harness_of(rows, patches=[str(patch)])
    questions = [scenario.questions[0] for scenario in harness.read()]
    assert questions[0].gold.answers == ("Oslo",)
    assert questions[0].gold.evidence == ("p01",)
    assert [harness.flags(item) for item in questions] == [(GOLD_FIXED,), (GOLD_EXCLUDED,), (), ()]
    report = harness.patch_report()
    assert report is not None
    assert report.ceiling == 0.5
    assert len(list(harness_of(rows, patches=[str(patch)], sample=1).read())) == 1


# --- what is odd and what is refused -------------------------------------------------------------------------------


def test_check_counts_what_there_is_and_every_trap(harness_of) -> None:
    odd = musique_row("4hop3__1_2_3_4", question="Other?", answer="Nowhere", answer_aliases=["", "Varn"])
    odd["paragraphs"] = [*odd["paragraphs"], odd["paragraphs"][1] | {"idx": 7}]
    silent = musique_row("3hop2__1_2_3", answer="Atlantis", answer_aliases=[])
    silent["paragraphs"][3]["paragraph_text"] = " "
    harness = harness_of([musique_row(), odd, silent])
    told = harness.check()
    assert told[0].startswith("MuSiQue answerable, sha256 ")
    for line in (
        "questions 3: answerable 3, unanswerable 0",
        "questions by hops: 2hop 1, 3hop 1, 4hop 1",
        "by composition: 2hop 1, 3hop1 0, 3hop2 1, 4hop1 0, 4hop2 0, 4hop3 1",
        "paragraphs of a question: 3 in 1, 4 in 1, 5 in 1",
        "questions whose answer has aliases: 2",
        "empty alias, left out: 1 in 1 questions (4hop3__1_2_3_4)",
        "empty paragraph, left out: 1 in 1 questions (3hop2__1_2_3)",
        "idx that is not the paragraph's place: 1 in 1 questions (4hop3__1_2_3_4)",
        "paragraph that stands twice in a row: 1 in 1 questions (4hop3__1_2_3_4)",
        "answerable, and supporting paragraphs are not as many as hops: 2 in 2 questions "
        "(4hop3__1_2_3_4, 3hop2__1_2_3)",
        "answerable, and no supporting paragraph has the answer or an alias word for word: 1 in 1 questions "
        "(3hop2__1_2_3)",
        "question texts asked under more than one id: 1",
    ):
        assert line in told


def test_check_of_the_full_set(harness_of) -> None:
    told = harness_of([musique_row(), musique_row(answerable=False)], set="full").check()
    assert "questions 2: answerable 1, unanswerable 1" in told
    assert "pairs, an answerable and an unanswerable row each: 1" in told
    assert "question texts asked under more than one id: 0" in told


def test_a_twin_that_still_holds_the_answer_is_counted(harness_of) -> None:
    twin = musique_row(answerable=False)
    twin["paragraphs"][3]["paragraph_text"] = "Far from Varn."
    told = "\n".join(harness_of([musique_row(), twin], set="full").check())
    assert "unanswerable, and a paragraph still has the answer word for word: 1 in 1 questions" in told


def changed(key: str, value: Any) -> dict[str, Any]:
    return musique_row(**{key: value})


def paragraph(**changes: Any) -> dict[str, Any]:
    row = musique_row()
    row["paragraphs"][1] |= changes
    return row


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (changed("id", "5hop__1_2"), "question 5hop__1_2: the id does not begin with one of 2hop, 3hop1"),
        (changed("id", ""), "line 1, id: the text is empty"),
        (changed("question", 3), "question: expected text, found a number"),
        (changed("answer", None), "answer: expected text, found null"),
        (changed("answer", ""), "answer: the text is empty"),
        (changed("answer_aliases", "Varn"), "answer_aliases: expected a list, found text"),
        (changed("answer_aliases", [3]), "answer_aliases: expected text, found a number"),
        (changed("answerable", "true"), "answerable is neither true nor false"),
        (changed("paragraphs", []), "there is no paragraph"),
        (changed("surprise", 1), "unknown field 'surprise'"),
        ({"id": "2hop__1_2", "paragraphs": [], "question": "?"}, "those of the test split are withheld"),
        ({"id": "2hop__1_2"}, "field 'paragraphs' is missing"),
        ([], "expected an object, found a list"),
        (paragraph(idx="1"), "paragraph 1: idx is no whole number"),
        (paragraph(idx=0), "two paragraphs share an idx"),
        (paragraph(is_supporting=1), "paragraph 1: is_supporting is neither true nor false"),
        (paragraph(paragraph_text=None), "paragraph 1: expected text, found null"),
        (paragraph(relevance=1), "paragraph 1: unknown field 'relevance'"),
    ],
)
def test_what_is_not_understood_is_refused(harness_of, row: Any, says: str) -> None:
    assert says in refusal(harness_of(f"\n{json.dumps(row)}\n" if isinstance(row, list) else [row]))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "holds no question"),
        (b"\n\n", "holds no question"),
        (json.dumps([musique_row()]).encode(), "is a JSON list, and the published file has one JSON object a line"),
        (json.dumps([musique_row()], indent=1).encode(), "is a JSON list"),
        (json.dumps(musique_row()).encode()[:200], "line 1 is truncated"),
        (json.dumps(musique_row()).encode() + b"\n{'id': 1}\n", "line 2 is not valid JSON"),
        (b"\xff\xfe{}\n", "line 1 is not UTF-8"),
        (b'{"id": NaN}\n', "NaN is not JSON"),
        (b"[" * 5_000, "is a JSON list"),
        (b'{"a":' * 5_000 + b"\n", "line 1 is nested too deeply"),
    ],
)
def test_damaged_files(harness_of, data: bytes, says: str) -> None:
    assert says in refusal(harness_of(data))


def test_half_a_character_is_told_in_a_line(harness_of) -> None:
    assert "half of a character" in refusal(harness_of([musique_row(question="What \ud800?")]))
    with pytest.raises(DatasetError, match="line 1 holds half of a character"):
        harness_of([musique_row(question="What \ud800?")]).check()


def test_a_byte_order_mark_is_no_fault(harness_of) -> None:
    assert only(harness_of(b"\xef\xbb\xbf" + json.dumps(musique_row()).encode())).id == "2hop__11_22"


def test_another_published_file_is_named(harness_of) -> None:
    harness = harness_of([musique_row()], sha256="0" * 64)
    assert "harness.dataset.sha256 pins 000" in refusal(harness)
