"""Replies of a judge that is asked for yes or no, or for the score of one point."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.config import ModelConfig
from runner.errors import ConfigError
from runner.llm import Request
from runner.llm.judge import Judge
from runner.llm.judge_replies import READINGS, label_of_points, point_score, summary, yes_no
from runner.types import ABSTAIN, CORRECT, JUDGE_UNPARSEABLE, LABELS, WRONG, Completion, Gold, Label, Question

JUDGE = ModelConfig(name="j", provider="fake", model="lexical", rubric="locomo_lenient")


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("yes", CORRECT),
        ("Yes.", CORRECT),
        ("**YES**", CORRECT),
        ("no", WRONG),
        ("No, although a part of it says yes", WRONG),
        ("yes\nThe reference says so.", CORRECT),
        ("The answer is yes", JUDGE_UNPARSEABLE),
        ("yes/no", JUDGE_UNPARSEABLE),
        ("yes or no", JUDGE_UNPARSEABLE),
        ("yesterday", JUDGE_UNPARSEABLE),
        ("not sure", JUDGE_UNPARSEABLE),
        ("", JUDGE_UNPARSEABLE),
    ],
)
def test_yes_or_no_is_the_first_word(reply: str, value: str) -> None:
    assert yes_no(reply).value == value


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ('{"score": 1, "reason": "there"}', 1.0),
        ('{"score": 0.5}', 0.5),
        ('{"score": "0"}', 0.0),
        ("0.5", 0.5),
        ("Score: 1.0", 1.0),
        ('{"score": 0.7}', None),
        ('{"score": true}', None),
        ('{"score": 1} {"score": 0}', None),
        ("1 of 2", None),
        ("", None),
    ],
)
def test_a_point_scores_nothing_half_or_all(reply: str, score: float | None) -> None:
    found = point_score(reply)
    assert found.score == score
    assert (found.value == JUDGE_UNPARSEABLE) is (score is None)


def test_points_are_averaged_and_a_fault_is_the_whole_s() -> None:
    points = [Label(value=CORRECT, score=1.0), Label(value=CORRECT, score=0.5), Label(value=WRONG, score=0.0)]
    assert label_of_points(points).score == 0.5
    assert label_of_points(points).value == CORRECT
    assert label_of_points([*points, Label(value=WRONG, score=0.0)]).value == WRONG  # 1.5 of 4
    assert label_of_points([*points, Label(value="judge_error", reason="503")]).value == "judge_error"


def counts(
    fluency: object = 1, points: object = 4, told: object = 2, sentences: object = 4, supported: object = 3
) -> str:
    return (
        f'{{"fluency": {fluency}, "key_points": {points}, "told": {told}, "sentences": {sentences}, '
        f'"supported": {supported}, "reason": "1, 3"}}'
    )


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        (counts(), 0.6),  # recall 1/2, precision 3/4: 2 * 3/8 / (5/4)
        (f"Point 1 is told.\n```json\n{counts()}\n```", 0.6),
        (counts(told=4, supported=4), 1.0),
        (counts(fluency=0), 0.0),
        (counts(told=0, supported=0), 0.0),
        (counts(told=0, sentences=0, supported=0), 0.0),
        (counts(told=5), None),
        (counts(supported=5), None),
        (counts(told=-1), None),
        (counts(points=0, told=0), None),
        (counts(fluency=2), None),
        (counts(fluency="true"), None),
        (counts(told=1.5), None),
        (counts() + counts(told=3), None),
        (counts().replace('"reason": "1, 3"', '"told": 2'), None),
        ('{"fluency": 1}', None),
        ("", None),
    ],
)
def test_counts_of_a_summary_are_fluency_times_f1(reply: str, score: float | None) -> None:
    found = summary(reply)
    assert found.score == (None if score is None else pytest.approx(score))
    assert (found.value == JUDGE_UNPARSEABLE) is (score is None)
    assert score is None or found.value == (CORRECT if score >= 0.5 else WRONG)


def test_reason_of_a_summary_tells_the_counts() -> None:
    assert summary(counts()).reason == "fluency 1, key points 2/4, sentences 3/4 1, 3"


@given(st.text(max_size=200), st.sampled_from(sorted(READINGS)))
def test_any_reply_is_a_verdict_or_unparseable(reply: str, reading: str) -> None:
    assert READINGS[reading](reply).value in (*LABELS, JUDGE_UNPARSEABLE)


def test_a_benchmark_s_rubric_is_used_hashed_and_answers_in_its_way(tmp_path: Path) -> None:
    rubric = tmp_path / "mine.md"
    rubric.write_text("<!-- reply: yes-no -->\n\n<!-- user -->\nIs {answer} what {gold} says?\n")
    judge = Judge(JUDGE, [str(rubric)])
    question = Question(id="q", text="Where?", category="1", gold=Gold(answers=("Oslo",)), rubric=str(rubric))
    request = judge.request(question, "I do not know")  # a refusal goes to the benchmark's own rubric as well
    assert isinstance(request, Request)
    assert request.prompt == "Is I do not know what Oslo says?"
    assert judge.label(question, Completion(text="no")).value == WRONG
    assert judge.label(question, Completion(text='{"label": "CORRECT"}')).value == JUDGE_UNPARSEABLE
    assert judge.identity.startswith(str(rubric) + "@")
    plain = Question(id="q", text="Where?", category="1", gold=Gold(answers=("Oslo",)))
    assert judge.request(plain, "I do not know") == Label(value=ABSTAIN, reason="explicit refusal")
    rubric.write_text("<!-- reply: stars -->\n\n<!-- user -->\n{answer}\n")
    with pytest.raises(ConfigError, match="replies with 'stars'"):
        Judge(JUDGE, [str(rubric)])
