"""MemoryAgentBench on small rows in the official layout: each task's metric by hand, traps, layouts, refusals."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from runner.config import HarnessConfig, ModelConfig, SliceConfig
from runner.errors import ConfigError
from runner.harness import build
from runner.harness.memoryagentbench import MemoryAgentBench
from runner.harness.memoryagentbench.movies import Movies, recommended
from runner.harness.memoryagentbench.rules import answer_given, contains, matches
from runner.llm.judge import Judge
from runner.llm.reader import Reader
from runner.types import ABSTAIN, CORRECT, GOLD_FIXED, WRONG, Hit, Question, Scenario
from tests.support.harness_samples.memoryagentbench import MAB_MOVIES, mab_chats, mab_row, mab_rows, memoryagentbench
from tests.support.refusals import refusal

READER = ModelConfig(name="fake", provider="fake", model="extractive", prompt="locomo_qa")


@pytest.fixture
def of(tmp_path: Path):
    """A harness over rows in one JSON list, the movies beside it."""

    def make(*rows: dict[str, Any], movies: bool = True, **more: Any) -> MemoryAgentBench:
        (tmp_path / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
        if movies:
            (tmp_path / "entity2id.json").write_text(json.dumps(MAB_MOVIES))
        dataset = {"path": str(tmp_path / "rows.json"), "sha256": None}
        return harness(HarnessConfig(name="memoryagentbench", dataset=dataset, **more))

    return make


def harness(config: HarnessConfig) -> MemoryAgentBench:
    found = build(config)
    assert isinstance(found, MemoryAgentBench)
    return found


def read(found: MemoryAgentBench, **chosen: Any) -> list[Scenario]:
    return list(found.load(SliceConfig(**chosen)))


def only(found: MemoryAgentBench) -> Question:
    (scenario,) = read(found)
    return scenario.questions[0]


def rows_of(source: str) -> list[dict[str, Any]]:
    return [row for rows in mab_rows().values() for row in rows if row["metadata"]["source"].startswith(source)]


# --- metrics, each by hand -----------------------------------------------------------------------------------------


def qa(answers: Any, source: str = "ruler_qa1_197K") -> dict[str, Any]:
    return mab_row(source, context="A text.", questions=["What?", "Who?"], answers=[answers, ["x"]])


@pytest.mark.parametrize(
    ("golds", "answer", "label"),
    [
        (["France"], "It lies in France, of course.", CORRECT),
        (["the Fair Republic"], "fair  republic!", CORRECT),  # case, articles, punctuation and white space are nothing
        (["Gaul", "France"], "FRANCE", CORRECT),  # the best alias counts
        (["4"], "14 of them", CORRECT),  # inside a word, as published
        (["Paris"], "I cannot find Paris anywhere", CORRECT),  # in a refusal as well, as published
        (["France"], "Spain", WRONG),
        (
            ["the", "France"],
            "Spain",
            WRONG,
        ),  # an alias that is an article alone stands in every answer: in none of ours
        (["France"], "I don't know.", ABSTAIN),
        (["France"], "", WRONG),
    ],
)
def test_substring_exact_match(of, golds: list[str], answer: str, label: str) -> None:
    found = of(qa(golds))
    question = only(found)
    assert question.rule == "substring_exact_match"
    assert found.grade(question, answer).value == label


def test_companions_as_published(of) -> None:
    found = of(qa(["Fair Isle", "Skye"]))
    # "on fair isle" and "fair isle": 2 of 3 tokens and 2 of 2, F1 = 2*2/(3+2); the second line is not looked at
    assert found.score_answer(only(found), "On Fair Isle\nor so") == {
        "exact_match": 0,
        "substring_exact_match": 1,
        "token_f1": pytest.approx(0.8),
    }
    assert found.score_answer(only(found), "Well.\nAnswer: Skye\nSure.")["exact_match"] == 1
    assert found.score_answer(only(found), "The.") == {"exact_match": 0, "substring_exact_match": 0, "token_f1": 0}
    # yes and no are matched whole: "yes it is" shares a token with "Yes" and scores nothing
    closed = of(qa(["Yes"]))
    assert closed.score_answer(only(closed), "yes, it is")["token_f1"] == 0
    assert closed.score_answer(only(closed), "yes!")["token_f1"] == 1
    assert of(qa(["the"])).score_answer(only(of(qa(["the"]))), "a")["token_f1"] == 0  # nothing is left of either


def test_event_is_looked_for_in_the_first_line_alone(of) -> None:
    found = of(*rows_of("eventqa"))
    question = only(found)
    assert found.grade(question, "Ann came back.").value == CORRECT
    assert found.grade(question, "Hm.\nAnswer: Ann came back").value == CORRECT
    assert found.grade(question, "One of:\nBob sang.\nAnn came back.").value == WRONG


@pytest.mark.parametrize(
    ("answer", "paper", "upstream"),
    [
        ("1", CORRECT, CORRECT),
        ("label: 1", CORRECT, WRONG),  # what the published prompt asks for is wrong in the published code
        ("**Label: 1**\nbecause", CORRECT, WRONG),
        ("Answer: 1", CORRECT, CORRECT),
        ("11", WRONG, WRONG),
        ("label: 11", WRONG, WRONG),
        ("The label is 1", WRONG, WRONG),
        ("0", WRONG, WRONG),
    ],
)
def test_exact_match_of_labels(of, answer: str, paper: str, upstream: str) -> None:
    (row,) = rows_of("icl_")
    for scoring, rule, label in (("paper", "exact_match", paper), ("upstream", "exact_match_upstream", upstream)):
        found = of(row, settings={"scoring": scoring})
        question = read(found)[0].questions[1]  # its gold is 1
        assert question.rule == rule
        assert found.grade(question, answer).value == label


@pytest.mark.parametrize(
    ("answer", "paper", "upstream"),
    [
        ('{"answer":"B.The butler", "reasoning":"He had\nthe knife."}', CORRECT, WRONG),
        ('{"answer": "B. The butler", "reasoning": "cut off', CORRECT, WRONG),  # "B." stands apart in one of them
        ("B.The butler", CORRECT, CORRECT),
        ("B. The butler", CORRECT, WRONG),
        ('{"answer": "A. The maid"}', WRONG, WRONG),
        ("B", WRONG, WRONG),  # strict: letter and words
        ("B.The butler did it", WRONG, WRONG),
    ],
)
def test_exact_match_of_detectives(of, answer: str, paper: str, upstream: str) -> None:
    for scoring, label in (("paper", paper), ("upstream", upstream)):
        found = of(*rows_of("detective"), settings={"scoring": scoring})
        assert found.grade(only(found), answer).value == label


def test_pieces_of_the_rules() -> None:
    assert answer_given('{"answer": "C. \\"Fog\\"", "x"') == 'C. "Fog"'
    assert answer_given('{"answer": 4}') == "4"
    assert answer_given(r'{"answer": "a\z"}') == r"a\z"
    assert not contains("anything", ["...", "an"])
    assert matches("A) Fog", ["A. Fog"], letters=True)
    assert not matches("B. Fog", ["A. Fog"], letters=True)


# --- movies --------------------------------------------------------------------------------------------------------


def test_recall_of_movies_by_edit_distance(of) -> None:
    found = of(*rows_of("recsys"))
    question = only(found)
    assert question.gold.answers == ("Fargo", "12 Angry Men")  # ids 7 and 9: a set to be found, not aliases
    both = "1. Fargo (1996)\n2. Twelve Angry Men\n3. Heat"
    label = found.grade(question, both)
    assert (label.value, label.score) == (CORRECT, 1.0)
    # the gold is first and sixth: half of it at 5, all of it at 10
    late = "1. Fargoo\n2. Heat\n3. Heat\n4. Heat\n5. Heat\n6. 12 Angry Man"
    assert found.grade(question, late).score == 0.5
    assert found.score_answer(question, late) == {"recsys_recall@1": 0.5, "recsys_recall@5": 0.5, "recsys_recall@10": 1}
    assert found.grade(question, "1. Heat").value == WRONG
    assert found.grade(question, "").score == 0


def test_titles_that_an_answer_lists() -> None:
    answer = "Sure! Here:\n\n**1. Lock, Stock and Two (1998)**\n\n2) 12 Angry Men\n- Heat"
    assert recommended(answer) == ["Lock, Stock and Two", "12 Angry Men", "Heat"]
    assert recommended("Heat, Fargo (1996)") == ["Heat", "Fargo"]
    assert recommended("Heat\nO Brother, Where Art Thou?") == ["Heat", "O Brother, Where Art Thou?"]
    # as published: empty lines are titles, and the first title's own number goes
    assert recommended(answer, upstream=True) == ["Lock, Stock and Two **", "", "12 Angry Men", "- Heat"]
    assert recommended("1. 12 Angry Men\n2. Heat", upstream=True) == ["Angry Men", "Heat"]
    assert recommended("1. 12 Angry Men\n2. Heat") == ["12 Angry Men", "Heat"]
    assert recommended("Heat, Fargo", upstream=True) == ["Heat", "Fargo"]
    assert recommended("", upstream=True) == [""]


def edit(left: str, right: str) -> int:
    """Levenshtein distance, Wagner and Fischer's table."""
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, start=1):
        before, row[0] = row[0], i
        for j, b in enumerate(right, start=1):
            before, row[j] = row[j], min(before + (a != b), row[j] + 1, row[j - 1] + 1)
    return row[-1]


def test_nearest_is_nearest_whatever_the_words() -> None:
    names = ["Fargo", "Heat", "Alien", "ALIEN", "Aliens", "The Big Lebowski", "Se7en", "M", "Ran", "12 Angry Men", "Ｈ"]
    movies = Movies({f"x/{name.replace(' ', '_')}_(1990)": number for number, name in enumerate(names)})
    assert edit("kitten", "sitting") == 3
    for said in ("fargo", "Alienz", "alien", "Lebowski", "seven", "", "Rain", "Angry Men", "x" * 300, "Häat", "heat 2"):
        distances = [edit(said.lower()[:200], name.lower()) for name in names]
        assert movies.nearest(said) == names[distances.index(min(distances))]


# --- judged --------------------------------------------------------------------------------------------------------


def test_chats_are_graded_by_longmemevals_templates(of) -> None:
    (scenario,) = read(of(mab_chats()))
    where, cook, cat = scenario.questions
    assert [q.rubric for q in scenario.questions] == [
        "longmemeval_plain",
        "longmemeval_preference",
        "longmemeval_abstention",
    ]
    assert where.text == "Where are my keys?"
    assert where.now == datetime(2023, 5, 27, 22, 54)
    assert where.tags == {"source": "longmemeval_s*", "question_type": "single-session-assistant"}
    assert (cat.gold.abstain, cat.gold.evidence, cook.gold.abstain) == (True, (), False)
    types = ["temporal-reasoning", "knowledge-update", "multi-session"]
    changed = mab_chats()
    changed["metadata"]["question_types"] = types
    changed["metadata"]["question_ids"] = None
    (scenario,) = read(of(changed))
    assert [q.rubric for q in scenario.questions] == [
        "longmemeval_temporal",
        "longmemeval_update",
        "longmemeval_plain",
    ]


def test_summary_is_graded_by_all_key_points_at_once(of) -> None:
    found = of(*rows_of("infbench"))
    question = only(found)
    assert question.rubric == "mab_summary"
    assert not question.rule
    assert question.gold.answers == ("A king loses his crown SECRETEXPERT.",)
    assert question.gold.points == ("1. The king SECRETPOINT loses his crown.\n2. He finds it.",)
    judge = Judge(ModelConfig(name="fake", provider="fake", model="lexical", rubric="locomo_lenient"), ["mab_summary"])
    (asked,) = judge.requests(question, "A king lost his crown.")
    body = asked.messages[-1]["content"]
    assert "2. He finds it." in body
    assert "SECRETEXPERT" in body
    # rouge-l: "a king his crown" of "a king loses his crown secretexpert", 4 of 5 said and 4 of 6 wanted
    scores = found.score_answer(question, "A king lost his crown.")
    assert scores == {"rouge_l_recall": pytest.approx(4 / 6), "rouge_l_f1": pytest.approx(8 / 11)}


def test_every_task_has_its_prompt(of) -> None:
    found = of(*(row for rows in mab_rows().values() for row in rows))
    reader = Reader(READER, found.prompts)
    used = set()
    for scenario in read(found):
        for question in scenario.questions:
            asked = json.dumps(reader.request(question, "a memory").messages)
            assert json.dumps((question.reading or question.text)[:40])[1:-1] in asked
            used.add(question.prompt)
    assert used == set(found.prompts)


# --- what is told and asked ----------------------------------------------------------------------------------------


def test_the_question_is_searched_by_and_the_example_is_read(of) -> None:
    detective = only(of(*rows_of("detective")))
    assert detective.text == "Who did it?\nA. The maid\nB.The butler"
    assert "SECRETDEMO" in detective.reading
    summary = only(of(*rows_of("infbench")))
    assert summary.text == "Summarize the book. Plot only."
    assert "SECRETDEMO" in summary.reading
    assert only(of(*rows_of("icl_"))).reading == ""


def test_labels_of_the_chats_are_left_out_and_are_the_evidence(of) -> None:
    found = of(mab_chats(), settings={"chunk_tokens": 16}, k=1)
    (scenario,) = read(found)
    text = " ".join(event.text for event in scenario.events)
    assert "has_answer" not in text
    assert "Chat Time: 2022/12/28 (Wed) 16:10" in text.replace("\n", " ")
    question = scenario.questions[0]
    held = [event for event in scenario.events if event.id in question.gold.evidence]
    assert "They are on the hall table." in " ".join(event.text for event in held)
    hits = [Hit(key="x", text="", sources=(held[0].id,))]
    assert found.score_retrieval(question, hits)["recall@1"] == 1
    assert found.score_retrieval(scenario.questions[1], hits)["recall@1"] is None  # no turn is labelled
    assert all(event.time is None for event in scenario.events)


def test_chats_in_another_shape_are_text_without_labels(of) -> None:
    context = "Chat Time: 2022/11/17\n{'has_answer': true, 'content': 'Keys.'} {\"a\": 1, \"has_answer\": False}"
    (scenario,) = read(of(mab_chats(context=context)))
    assert scenario.events[0].text == "Chat Time: 2022/11/17\n{ 'content': 'Keys.'} {\"a\": 1}"
    assert scenario.questions[0].gold.evidence == ()


def test_one_question_or_one_list_means_aliases_of_question_0(of) -> None:
    single = mab_row("ruler_qa2_421K", context="x", questions=["Which?"], answers=[["red"], ["crimson", "red"]])
    assert only(of(single)).gold.answers == ("red", "crimson")
    one_list = mab_row("ruler_qa2_421K", context="x", questions=["Which?", "What?"], answers=[["red", "crimson"]])
    found = of(one_list)
    (scenario,) = read(found)
    assert [(q.id, q.gold.answers) for q in scenario.questions] == [("ruler_qa2_421K-0/0", ("red", "crimson"))]
    assert "questions without an answer, left out as published: 1" in found.check()
    several = mab_row("ruler_qa2_421K", context="x", questions=["A?", "B?"], answers=[["red", "red"], "blue"])
    assert [q.gold.answers for q in read(of(several))[0].questions] == [("red",), ("blue",)]


def test_rows_are_scenarios_and_one_context_is_one_cluster(of) -> None:
    scenarios = read(of(*rows_of("factconsolidation")))
    assert [s.id for s in scenarios] == ["factconsolidation_sh_6k-0", "factconsolidation_mh_6k-0"]
    assert len({s.cluster for s in scenarios}) == 1
    assert {q.category for s in scenarios for q in s.questions} == {"Conflict_Resolution"}


def test_sources_are_chosen_and_keep_their_names(of) -> None:
    rows = [*rows_of("factconsolidation"), qa(["x"]), qa(["y"])]
    assert [s.id for s in read(of(*rows, settings={"sources": ["ruler_*"]}))] == [
        "ruler_qa1_197K-0",
        "ruler_qa1_197K-1",
    ]
    assert [s.id for s in read(of(*rows, settings={"sources": ["factconsolidation_mh_6k"]}))] == [
        "factconsolidation_mh_6k-0"
    ]
    assert [s.id for s in read(of(mab_chats(), settings={"sources": ["longmemeval_s*"]}))] == ["longmemeval_s-0"]
    with pytest.raises(ConfigError, match=r"no sub-dataset is 'ruler_qa3'.*the data has factconsolidation_mh_6k"):
        read(of(*rows, settings={"sources": ["ruler_qa3", "factcon*"]}))
    assert len(read(of(*rows), categories=["CR"])) == 2
    assert len(read(of(*rows), categories=["accurate-retrieval"])) == 2


def test_a_row_of_half_a_million_tokens_and_an_empty_one(of) -> None:
    huge = qa(["x"]) | {"context": "A fact stands here. " * 100_000}
    found = of(huge, qa(["x"]) | {"context": " \n "}, mab_row("icl_x", context="y"))
    first, second = read(found)
    # 16,384 characters hold 819 sentences of 20: 100,000 / 819 chunks
    assert len(first.events) == 123
    assert second.events == ()
    told = found.check()
    assert "empty contexts: 1" in told
    assert "rows without a question, left out: 1" in told


# --- layouts, pins and refusals ------------------------------------------------------------------------------------


def test_parquet_folder_file_and_json_say_the_same(tmp_path: Path, of) -> None:
    config = memoryagentbench(tmp_path / "published").config
    whole = harness(config)
    data = tmp_path / "published" / "data"
    everything = read(whole)
    assert everything == read(of(*(row for rows in mab_rows().values() for row in rows)))
    assert not whole.dataset().pinned
    one = config.model_copy(
        update={
            "dataset": config.dataset.model_copy(
                update={"path": str(data / "Conflict_Resolution-00000-of-00001.parquet")}
            )
        }
    )
    assert read(harness(one)) == [s for s in everything if s.id.startswith("factconsolidation")]
    (data / "Test_Time_Learning-00000-of-00001.parquet").unlink()
    assert "lacks Test_Time_Learning-00000-of-00001.parquet of 4 files" in refusal(harness(config))
    broken = data / "Accurate_Retrieval-00000-of-00001.parquet"
    broken.write_bytes(b"PAR1 no")
    (data / "Test_Time_Learning-00000-of-00001.parquet").write_bytes(b"PAR1 no")
    assert "cannot be read as Parquet" in refusal(harness(config))


def test_each_file_has_its_own_pin(tmp_path: Path) -> None:
    config = memoryagentbench(tmp_path).config
    files = sorted((tmp_path / "data").glob("*.parquet"))
    pins = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    pins["entity2id.json"] = hashlib.sha256((tmp_path / "entity2id.json").read_bytes()).hexdigest()

    def pinned(part: dict[str, Any]) -> dict[str, Any]:
        return part | {"sha256": pins[part["url"].rpartition("/")[2]]}

    movies = pinned({"url": "https://example.org/entity2id.json"})
    settings = {"more": [pinned(part) for part in config.settings["more"]], "movies": movies}
    dataset = pinned(config.dataset.model_dump())
    right = harness(HarnessConfig(name="memoryagentbench", dataset=dataset, settings=settings))
    assert right.dataset().pinned
    assert "as pinned" in right.check()[0]
    alone = dataset | {"path": str(tmp_path / "data" / "Conflict_Resolution-00000-of-00001.parquet")}
    one = harness(HarnessConfig(name="memoryagentbench", dataset=alone, settings={**settings, "sources": ["fact*"]}))
    assert one.dataset().pinned
    assert one.dataset().sha256 == pins["Conflict_Resolution-00000-of-00001.parquet"]
    settings["movies"] = movies | {"sha256": "0" * 64}
    assert "entity2id.json has sha256" in refusal(
        harness(HarnessConfig(name="memoryagentbench", dataset=dataset, settings=settings))
    )


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ([], "expected an object, found a list"),
        ({"context": "x", "questions": [], "answers": []}, "field 'metadata' is missing"),
        (mab_row("ruler_qa1") | {"gold": 1}, "unknown field 'gold'"),
        (mab_row("ruler_qa1", label=1), "unknown field 'label'"),
        (mab_row("squad"), "unknown sub-dataset 'squad'"),
        (mab_row("ruler_qa1", context=3), "context: expected text, found a number"),
        (mab_row("ruler_qa1", questions=["a", "b"], answers=[["x"]] * 3), "2 questions and 3 lists of answers"),
        (mab_row("ruler_qa1", questions=["a", "b"], answers=[["x"], []]), "answers of question 1: there is none"),
        (mab_row("ruler_qa1", questions=["a", " "], answers=[["x"], ["y"]]), "questions: the text is empty"),
        (mab_row("infbench_sum", questions=["a"], answers=[["x"]]), "there are no keypoints"),
        (mab_row("recsys_redial", questions=["a"], answers=[["8", "77"]]), "names the movie '77'"),
        (
            mab_chats() | {"metadata": mab_chats()["metadata"] | {"question_types": ["x"] * 3}},
            "unknown question type 'x'",
        ),
        (mab_chats() | {"metadata": mab_chats()["metadata"] | {"question_dates": ["May"] * 3}}, "is not like"),
        (mab_chats() | {"metadata": mab_chats()["metadata"] | {"question_ids": ["q"]}}, "question_ids has 1 items"),
    ],
)
def test_refusals_in_one_line(of, row: Any, says: str) -> None:
    assert says in refusal(of(row))


def test_movies_that_are_not_there_say_what_to_do(of) -> None:
    found = of(*rows_of("recsys"), movies=False)
    assert "harness.settings.movies.path=FILE" in refusal(found)
    assert "harness.settings.sources" in refusal(found)


def test_movies_that_are_none(of, tmp_path: Path) -> None:
    (tmp_path / "entity2id.json").write_text('{"x": "y"}')
    assert "is no mapping of movies to whole numbers" in refusal(of(*rows_of("recsys"), movies=False))


def test_no_rows(of) -> None:
    assert "holds no row" in refusal(of())


def test_patches(of, tmp_path: Path) -> None:
    patch = tmp_path / "patch.json"
    fix = {"id": "ruler_qa1_197K-0/0", "action": "fix", "answer": "Spain", "was": "France", "reason": "moved"}
    patch.write_text(json.dumps([fix]))
    found = of(qa(["France"]), patches=[str(patch)])
    question = only(found)
    assert found.grade(question, "Spain").value == CORRECT
    assert found.flags(question) == (GOLD_FIXED,)
    assert any("denominators: 2 as published, 2 patched" in line for line in found.check())


def test_check_counts_every_trap(of) -> None:
    rows = [row for rows in mab_rows().values() for row in rows]
    chats = mab_chats()
    chats["metadata"]["question_dates"] = ["2023/05/27 (Sat) 22:55", *chats["metadata"]["question_dates"][1:]]
    chats["metadata"]["haystack_sessions"][1] = [[{"role": "user", "content": "Nowhere.", "has_answer": True}]]
    told = of(*rows, chats, qa(["the", "a cat"])).check()
    for line in (
        "rows 11, questions 21, chunks 11, characters of context "
        f"{sum(len(row['context']) for row in [*rows, chats]) + len('A text.')}",
        "questions by competency: Accurate_Retrieval 12, Test_Time_Learning 3, Long_Range_Understanding 2, "
        "Conflict_Resolution 4",
        "contexts that held has_answer, left out: 2",
        "questions whose text tells another date than the metadata: 1",
        "answers that stand twice among the aliases: 1",
        "contexts that stand in several rows, one cluster each: 2",
        "labelled turns that the context does not hold: 1 (longmemeval_s-1/1)",
        "questions with evidence, the others have no retrieval metric: 2",
    ):
        assert line in told, told
    assert any(line.endswith("would always find them): 1") for line in told)
