"""Answers that give a superseded value, found lexically by the labelled evidence, without a model.

A knowledge-update question has evidence of two ages: the file dates its sessions and labels their turns. Words of the
older evidence that are neither in the newest, nor in the gold, nor in the question can only come from what was true
before. An answer is *stale* when it has none of the words that set the gold apart from the older evidence, has some
of those older words, and these are at least half of what it says beyond the words of question and gold; where the gold
has a number, only numbers count.

It errs on the quiet side: a paraphrase of the old value goes unseen. It says nothing where the evidence has one age.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from runner.harness.longmemeval.format import Instance
from runner.types import Fact, Metric

STALE: Final = Metric("stale", share=True, higher=False, shown="never")
SUPERSEDED: Final = "superseded"
CURRENT: Final = "current"

_WORD: Final = re.compile(r"[a-z]+|\d+(?:\.\d+)?")  # 27:12 is two numbers, as "27 minutes and 12 seconds" is
_GROUPED: Final = re.compile(r"(?<=\d),(?=\d{3})|['’]")
_NUMBERS: Final = {
    word: str(value)
    for value, word in enumerate(
        _WORD.findall(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
            "seventeen eighteen nineteen twenty"
        )
    )
}
_STOP: Final = frozenset(
    _WORD.findall(
        "a an the i you he she it we they me him her us them my your his its our their mine yours is are was were be "
        "been being am do does did have has had will would can could should may might must and or but if so as of in "
        "on at to for from by with about into than then that this these those there here what which who whom when "
        "where why how not no yes just also very really now currently im ive youve youre thats dont didnt"
    )
)


def facts(item: Instance) -> tuple[tuple[Fact, ...], tuple[Fact, ...]]:
    """Return the words that set the current and the superseded value apart, as facts to carry and to avoid.

    Both are empty where the evidence has one age.
    """
    dates = sorted({session.time for session in item.evidence})
    if len(dates) < 2:
        return (), ()
    by_age: dict[bool, set[str]] = {True: set(), False: set()}
    for session in item.evidence:
        # Turns without a label come from a file without labels: there, what the user said is the evidence.
        turns = session.labelled or tuple(turn for turn in session.turns if turn.role == "user")
        by_age[session.time == dates[-1]] |= words(turn.text for turn in turns)
    gold, asked = words(item.answers), words([item.question])
    older = by_age[False] - by_age[True] - gold - asked
    fresh = gold - by_age[False] - asked
    if not older:
        return (), ()
    return (Fact(label=CURRENT, any=tuple(sorted(fresh))),), (Fact(label=SUPERSEDED, any=tuple(sorted(older))),)


def stale(answer: str, question: str, gold: Iterable[str], current: Fact, superseded: Fact) -> bool:
    """Tell whether an answer gives the superseded value and not the current one."""
    given = words([answer]) - words([question])
    right = words(gold)
    old = set(superseded.any)
    if any(_number(word) for word in right):
        given = {word for word in given if _number(word)}
    if given & set(current.any):
        return False
    outdated = given & old
    return bool(outdated) and 2 * len(outdated) >= len(given - right)


def words(texts: Iterable[str]) -> set[str]:
    """Return the words that carry meaning, lower case, and the numbers, small ones as digits."""
    tokens = (token for text in texts for token in _WORD.findall(_GROUPED.sub("", text.lower())))
    return {_NUMBERS.get(word, word) for word in tokens if word not in _STOP}


def _number(word: str) -> bool:
    return word[0].isdigit()
