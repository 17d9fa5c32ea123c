"""Whether an answer stands in a text: what is the same word, what is not, and what must not be taken for it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.score.wording import alternatives, is_stated_in, tokens


def holds(gold: str, *texts: str) -> bool:
    return is_stated_in(alternatives([gold]), texts)


@pytest.mark.parametrize(
    ("gold", "text"),
    [
        ("cat", "The CAT sat."),
        ("The Hague", "She moved to the Hague last year"),
        ("a night porter", "Gustav works as Night-Porter now"),
        ("Max's dog", "Max’s dog barked"),
        ("1,000 dollars", "it cost 1000 dollars"),
        ("2", "she has two sons"),
        ("twenty-five", "he is 25"),
        ("25", "twenty five of them"),
        ("21", "the twenty-one steps"),
        ("5th", "number 5"),
        ("3.5 miles", "ran 3.5 miles"),
        ("7 May 2023", "on May 7th, 2023, we met"),
        ("May 7, 2023", "2023-05-07T10:00 we met"),
        ("7 May", "the 7th of May"),
        ("May 7", "it was 07 May"),
        ("5 September 2021", "Sept. 5, 2021"),
        ("2020", "[05 April 2020, 09:58] Ann: hello"),
        ("red brick house", "a house by the wall, brick, and red"),
        ("pottery, camping", "she likes camping; and pottery"),
        ("Straße", "in der STRASSE"),
        ("ＡＢＣ corp", "abc corp"),
        ("北京", "我喜欢北京的冬天"),
        ("not vegan", "he is not vegan"),
        ("Portland, Oregon", "Oregon's Portland"),
    ],
)
def test_stands(gold: str, text: str):
    assert holds(gold, text)


@pytest.mark.parametrize(
    ("gold", "text"),
    [
        ("cat", "concatenate"),
        ("cat", "cats"),
        ("night porter", "a porter at night"),  # two words must stand side by side
        ("2", "12 or 20 or 2.5 or 22nd"),
        ("20", "twenty-five"),
        ("1", "the one that I like"),  # a pronoun as often as a number
        ("not vegan", "he is vegan"),
        ("7 May 2023", "7 June 2023"),
        ("7 May 2023", "05/07/2023"),  # of the 5th or of the 7th
        ("5", "[05 April 2020, 09:58] Ann: hello"),  # the time of a memory is no count
        ("9", "[05 April 2020, 09:58] Ann: hello"),
        ("January", "Jan said hello"),  # a name, unless a number stands beside it
        ("红北京", "北京红"),
        ("red brick house", "a red house"),
        ("yes", "yes, she said"),  # a verdict is said of a text
        ("No", "no, no, no"),
        ("true", "true story"),
        ("B", "plan B"),  # the letter of a choice
        ("the", "the"),
        ("", "anything"),
        ("...", "anything..."),
        ("Yes, because of rain", "because of rain"),
    ],
)
def test_does_not_stand(gold: str, text: str):
    assert not holds(gold, text)


def test_the_items_of_a_list_may_come_from_several_texts_and_a_part_may_not():
    assert holds("pottery; camping", "pottery", "camping")
    assert not holds("pottery; camping", "pottery", "swimming")
    assert not holds("red brick house", "a red wall", "a brick house")
    assert not holds("7 May 2023", "7 May", "2023")  # a date is no list


def test_any_alternative_will_do():
    wanted = alternatives(["yes", "court reporter", "stenographer"])
    assert len(wanted) == 2
    assert is_stated_in(wanted, ["a stenographer"])
    assert not is_stated_in(wanted, ["yes"])
    assert not is_stated_in((), ["anything"])
    assert not is_stated_in(wanted, [])


def test_a_date_may_come_from_the_time_of_a_memory():
    assert holds("5 April 2020", "[05 April 2020, 09:58] Ann: I was there today")
    assert holds("April 2020", "nothing\n[05 April 2020, 09:58] Ann: I was there today")


words = st.text(alphabet="abcdefg xyz0123456789,.;'-\n", max_size=40)


@settings(deadline=None)
@given(words, words, words)
def test_more_text_never_takes_an_answer_away(gold: str, text: str, more: str):
    if holds(gold, text):
        assert holds(gold, text, more)


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_taken_apart(text: str):
    found = tokens(text)
    assert all(token and not token.isspace() for token in found)
    assert tokens(text.upper().lower()) == tokens(text.upper())


@settings(deadline=None)
@given(st.lists(st.sampled_from(["court", "reporter", "berlin", "7", "may", "two"]), min_size=2, max_size=6))
def test_every_text_holds_itself(parts: list[str]):
    text = " ".join(parts)
    assert holds(text, f"so, {text}!")
