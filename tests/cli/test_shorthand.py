"""Flags that other harnesses taught people, as the keys that they mean."""

from __future__ import annotations

import json
from collections.abc import Callable
from subprocess import CompletedProcess

import pytest

from runner.cli._words.shorthand import written_out
from runner.errors import UsageError

Cli = Callable[..., CompletedProcess[str]]


@pytest.mark.parametrize(
    ("words", "means"),
    [
        (["--question-type", "a,b", "+arm=x"], ["slice.categories=[a,b]", "+arm=x"]),
        (["--question-type=a"], ["slice.categories=[a]"]),
        (["--stale-check"], ["harness.settings.stale_check=true"]),
        (["answerer=ask"], ["reader=ask"]),
        (["--answerer", "ask"], ["reader=ask"]),
        (["answerer=reader", "reader=x"], ["reader=x"]),
        (["--ask-arms", "a,b", "judge=rule"], ["-m", "reader=ask", "+arm=a,b", "judge=rule"]),
        (["--lexical-scores"], ["run.lexical=judge"]),
        (["--lexical-scores", "--simplify-model", "gpt-4o-mini"], ["run.lexical=gpt-4o-mini"]),
        (["--simplify-model=heuristic"], ["run.lexical=heuristic"]),
        (["slice.limit=3", "-m"], ["slice.limit=3", "-m"]),
    ],
)
def test_what_a_flag_means(words: list[str], means: list[str]) -> None:
    assert written_out(words) == means


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--question-type"], "--question-type temporal-reasoning"),
        (["--ask-arms", "-m"], "--ask-arms a,b"),
        (["answerer=loom"], "there are reader .* and ask"),
    ],
)
def test_what_is_not_understood(words: list[str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        written_out(words)


def test_as_a_process(cli: Cli) -> None:
    done = cli("plan", "--question-type", "direct", "+arm=bm25", "--json")
    assert done.returncode == 0, done.stderr
    assert list(json.loads(done.stdout)[0]["by_category"]) == ["1 direct"]
    wrong = cli("--question-typ", "direct", "+arm=bm25")
    assert wrong.returncode == 2
    assert "did you mean '--question-type'?" in wrong.stderr


@pytest.mark.long
def test_a_sweep_of_memories_that_do_not_answer_is_refused(cli: Cli) -> None:
    refused = cli("--ask-arms", "bm25,dense", "judge=lexical_fake")
    assert refused.returncode == 2
    assert "does not answer by itself; choose a reader" in refused.stderr


@pytest.mark.parametrize(
    "argv",
    [
        ["answerer=ask", "reader=gpt-4.1-mini"],
        ["reader=gpt-4.1-mini", "--answerer", "ask"],
        ["--ask-arms", "a,b", "answerer=reader"],
        ["reader=none", "--ask-arms=a"],
        ["answerer=reader", "reader=ask"],
    ],
)
def test_two_answerers_are_refused_in_every_order(argv: list[str]) -> None:
    for order in (argv, argv if argv[0].startswith("--") or argv[1].startswith("--") else argv[::-1]):
        with pytest.raises(UsageError, match="name one of the two"):
            written_out(order)


def test_one_answerer_said_twice_and_a_sweep_over_both_are_none() -> None:
    assert written_out(["answerer=ask", "reader=ask"]) == ["reader=ask", "reader=ask"]
    assert written_out(["reader=ask,local", "-m", "answerer=ask"]) == ["reader=ask,local", "-m", "reader=ask"]
    assert written_out(["answerer=reader", "reader=local"]) == ["reader=local"]


def test_a_flag_that_takes_several_may_be_named_several_times() -> None:
    assert written_out(["--question-type", "a", "run.seed=1", "--question-type=b,c"]) == [
        "slice.categories=[a,b,c]",
        "run.seed=1",
    ]
    assert written_out(["--ask-arms", "a", "--ask-arms", "b"]) == ["-m", "reader=ask", "+arm=a,b"]
