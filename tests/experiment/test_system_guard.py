"""What a memory system returns is held to the contract before anything is made of it."""

from __future__ import annotations

import asyncio
import math

import numpy as np
import pytest

from runner.config import RunConfig
from runner.errors import IngestError, SearchError, Stopped
from runner.experiment import system_guard
from runner.experiment.spend import Spend
from runner.record import journal
from runner.types import Answer, Hit, Receipt, Retrieval, Usage

HIT = Hit(key="k", text="t", sources=("e1",))
EVENTS = frozenset({"e1"})


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "search must return a Retrieval, and returned NoneType"),
        (Retrieval(hits=None), "search must return hits as a tuple, and returned NoneType"),
        (Retrieval(hits=(hit for hit in [HIT])), "returned generator"),
        (Retrieval(hits=({"key": "k", "text": "t"},)), "hits must be of type Hit, and one is dict"),
        (Retrieval(hits=(Hit(key="k", text=None),)), "hits[0].text"),
        (Retrieval(hits=(Hit(key=5, text="t"),)), "hits[0].key"),
        (Retrieval(hits=(Hit(key="k", text=b"t"),)), "Expected 'str', got 'bytes' - at 'hits[0].text'"),
        (Retrieval(hits=(Hit(key="k", text="t", sources="e1"),)), "sources of type str"),
        (Retrieval(hits=(Hit(key="k", text="t", sources=("e9",)),)), "cites 'e9', which is no event"),
        (Retrieval(hits=(HIT,), notes=None), "at 'notes'"),
        (Retrieval(hits=(HIT,), notes=(5,)), "at 'notes[0]'"),
    ],
)
def test_a_retrieval_of_wrong_parts_is_a_fault_of_its_question(value, said):
    with pytest.raises(SearchError) as fault:
        system_guard.retrieval(value, EVENTS)
    assert said in str(fault.value)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("an answer", "ask must return an Answer, and returned str"),
        (Answer(text=None), "at 'text'"),
        (Answer(text=" \n"), "empty answer"),
        (Answer(text="x", model=5), "at 'model'"),
        (Answer(text="x", usage=Usage(calls=None)), "at 'usage.calls'"),
        (Answer(text="x", usage=Usage(input_tokens=-7)), "input_tokens is -7"),
        (Answer(text="x", usage=Usage(output_tokens=10**30)), "output_tokens is 10000000000000000000…"),
        (Answer(text="x", usage=Usage(usd=math.nan)), "usd is nan"),
        (Answer(text="x", usage=Usage(usd=-1.0)), "usd is -1"),
        (Answer(text="x", usage=Usage(usd=1e308)), "usd is 1e+308"),
        (Answer(text="x", hits=(Hit(key="k", text="t", sources=("e9",)),)), "cites 'e9'"),
    ],
)
def test_an_answer_of_wrong_parts_is_a_fault_of_its_question(value, said):
    with pytest.raises(SearchError) as fault:
        system_guard.answer(value, EVENTS)
    assert said in str(fault.value)


def test_a_write_that_returns_no_receipt_is_a_fault_of_the_history():
    with pytest.raises(IngestError, match="write must return a Receipt, and returned NoneType"):
        system_guard.receipt(None)
    with pytest.raises(IngestError, match="at 'events'"):
        system_guard.receipt(Receipt(events="3", sha256="", times="native"))


def test_numbers_of_an_array_library_and_lists_are_taken_as_what_they_are():
    found = system_guard.retrieval(
        Retrieval(hits=[Hit(key="k", text="t", score=np.float32(1.5), sources=["e1"])]), EVENTS
    )
    assert found == Retrieval(hits=(Hit(key="k", text="t", score=1.5, sources=("e1",)),))
    use = system_guard.answer(Answer(text="x", usage=Usage(input_tokens=np.int64(3), usd=np.float64(0.5))), None).usage
    assert use == Usage(input_tokens=3, usd=0.5)


def test_half_a_character_of_an_answer_is_replaced_and_loses_nothing():
    assert journal.encoded(Answer(text="a\ud800b")) == b'{"text":"a?b"}'


def test_the_first_call_of_a_role_without_a_price_goes_alone():
    """Ten at once, 0.04 dollars each, of a budget of 0.1: two are paid, not ten."""

    async def one(spend: Spend) -> bool:
        try:
            reserved = await spend.reserve(None, "ask")
        except Stopped:
            return False
        await asyncio.sleep(0)
        assert spend.settle(reserved, Usage(usd=0.04, calls=1), "ask") is None
        return True

    async def all_at_once() -> tuple[int, float]:
        spend = Spend(RunConfig(max_usd=0.1))
        spend.count(Usage(usd=0.0, calls=1), "judge")  # another role's price says nothing of this one's
        sent = await asyncio.gather(*(one(spend) for _ in range(10)))
        return sum(sent), spend.usd

    assert asyncio.run(all_at_once()) == (2, pytest.approx(0.08))


def test_calls_that_wait_for_money_do_not_pass_the_bound_on_calls():
    async def one(spend: Spend) -> bool:
        try:
            reserved = await spend.reserve(None, "ask")
        except Stopped:
            return False
        await asyncio.sleep(0)
        spend.settle(reserved, Usage(usd=0.001, calls=1), "ask")
        return True

    async def all_at_once() -> int:
        spend = Spend(RunConfig(max_usd=1.0, max_calls=3))
        return sum(await asyncio.gather(*(one(spend) for _ in range(10))))

    assert asyncio.run(all_at_once()) == 3
