"""The fakes: deterministic, free, and named."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from runner.config import ModelConfig
from runner.errors import ConfigError
from runner.llm import Request, connect
from runner.llm.judge import Judge
from runner.llm.prices import Prices
from runner.llm.reader import Reader
from runner.types import Completion, Gold, Question

READER = ModelConfig(name="extractive_fake", provider="fake", model="extractive", prompt="locomo_qa")
JUDGE = ModelConfig(name="lexical_fake", provider="fake", model="lexical", rubric="locomo_lenient")
CONTEXT = "Ann: the weather is fine\nBob: my dog Rex loves the lake\nBob: Rex is my dog's name"


def complete(config: ModelConfig, request: Any) -> Completion:
    assert isinstance(request, Request)
    return asyncio.run(connect(config, Prices.load()).complete(request))


def ask(text: str, context: str = CONTEXT) -> str:
    question = Question(id="s/1", text=text, category="1", gold=Gold(answers=("x",)))
    reply = complete(READER, Reader(READER).request(question, context))
    assert reply.model == "fake:extractive"
    assert reply.usage.usd == 0.0
    assert connect(READER, Prices.load()).estimate(Reader(READER).request(question, context)) == 0.0
    return reply.text


def test_the_reader_returns_the_line_that_shares_most_words() -> None:
    assert ask("What is the name of Bob's dog?") == "Bob: Rex is my dog's name"
    assert ask("Which lake?") == "Bob: my dog Rex loves the lake"


def test_the_reader_says_when_nothing_is_shared() -> None:
    assert ask("Who won?") == "NOT MENTIONED"
    assert ask("Who won?", "") == "NOT MENTIONED"


GRADES = [
    (("Oslo",), "Ann: I live in Oslo now", "CORRECT"),
    (("Oslo",), "Ann: I live in Bergen", "WRONG"),
    (("7 May 2023",), "on 7 May 2023", "CORRECT"),
    (("red bicycle", "bike"), "a bike", "CORRECT"),
    (("no",), "no", "CORRECT"),
    (("Oslo",), "...", "ABSTAIN"),
]


@pytest.mark.parametrize(("golds", "answer", "label"), GRADES)
def test_the_judge_counts_the_words_of_the_gold(golds: tuple[str, ...], answer: str, label: str) -> None:
    question = Question(id="s/1", text="q", category="1", gold=Gold(answers=golds))
    judge = Judge(JUDGE)
    reply = complete(JUDGE, judge.request(question, answer))
    assert json.loads(reply.text)["label"] == label
    assert judge.label(question, reply).value == label


def test_the_judge_wants_a_refusal_where_there_is_no_answer() -> None:
    question = Question(id="s/1", text="q", category="5", gold=Gold(abstain=True))
    judge = Judge(JUDGE)
    assert judge.label(question, complete(JUDGE, judge.request(question, "Oslo"))).value == "WRONG"


def test_an_unknown_fake_is_named() -> None:
    with pytest.raises(ConfigError, match="did you mean 'lexical'"):
        connect(JUDGE.model_copy(update={"model": "lexicl"}), Prices.load())
