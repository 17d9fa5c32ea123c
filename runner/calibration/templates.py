"""Templates that word a probe: a fact as a reader answers it, and an answer that says nothing.

Each template has a name, which stands in the record of every probe that it worded. None may be an explicit refusal
(:func:`runner.score.lexical.is_abstention`): a refusal is labelled without a judge and would calibrate nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from runner.config import digest
from runner.score.lexical import is_abstention, squad_tokens

# {fact} is a gold answer: the item's own for a known-right probe, another item's for a known-wrong one.
ANSWERS: Final[Mapping[str, str]] = {
    "bare": "{fact}",
    "stop": "{fact}.",
    "answer": "The answer is {fact}.",
    "memory": "From what was said: {fact}.",
    "according": "According to the memory, {fact}.",
    "thats": "That would be: {fact}.",
}
# {topic} is what the question asks about, in its own words; the last ones need none.
VAGUE: Final[Mapping[str, str]] = {
    "talked": "They talked about it in some detail: {topic}. It clearly mattered to them.",
    "around": "Something was said about this ({topic}), around the time when it came up.",
    "several": "Regarding “{topic}”, there were several things, and they went into them more than once.",
    "came_up": "It came up more than once, and it seemed important to them at the time.",
    "details": "This was described with quite a few details, as these things usually are.",
}
TOPICLESS: Final = ("came_up", "details")
TEMPLATES_SHA256: Final = digest({"answers": dict(ANSWERS), "vague": dict(VAGUE)})

_ASKING = re.compile(
    r"^(?:(?:on|in|at|for|to|with|from|of|by|about|around|under|during|since|until)\s+)?"
    r"(?:what|when|where|who|whom|whose|which|why|how)(?:'s|’s)?\b(?:\s+(?:many|much|long|often|old|far))?\s*",
    re.IGNORECASE,
)
_AUXILIARY = re.compile(
    r"^(?:did|does|do|is|are|was|were|has|have|had|will|would|can|could|should|might|may)\b\s*", re.IGNORECASE
)


def fill_answer(template: str, fact: str) -> str:
    """Return a fact in the words of a template of :data:`ANSWERS`.

    A full stop that ends the fact is not doubled. Filling is by replacement: braces in the fact are its own.
    """
    pattern = ANSWERS[template]
    fact = fact.strip()
    return pattern.replace("{fact}", fact.rstrip(".") if pattern.endswith("{fact}.") and fact.strip(".") else fact)


def fill_vague(template: str, question: str) -> str:
    """Return an answer that stays on the question's topic and says nothing about what it asks."""
    return VAGUE[template].replace("{topic}", topic(question))


def topic(question: str) -> str:
    """Return the topic of a question: its words without the interrogative, the auxiliary and the question mark.

    >>> topic("When did the band play in the old barn?")
    'the band play in the old barn'
    """
    plain = " ".join(question.split()).rstrip("?!. ")
    kept = _AUXILIARY.sub("", _ASKING.sub("", plain))
    return kept or plain or "that"


def interrogative(question: str) -> str:
    """Return the way in which a question asks: its interrogative ("when", "how many"), or its first word ("does")."""
    found = _ASKING.match(question.strip())
    return " ".join((found[0] if found else question.strip().partition(" ")[0]).lower().split())


def has_words_of(text: str, fact: str) -> bool:
    """Return whether every word of a fact is in a text, as often: by SQuAD tokens, in any order.

    A fact without a token ("The") is looked for as it is written.
    """
    return _within(_words(fact), _words(text))


def same_answer(one: str, other: str) -> bool:
    """Return whether two answers may be the same: equal after SQuAD normalisation, or one is contained in the other.

    "Contained" has two senses: as a run of characters of the normalised text ("painting" in "paintings"), and as a bag
    of words ("London, Paris" in "Paris, Rome and London"). It errs on the side of the same.
    """
    left, right = _words(one), _words(other)
    if not left or not right:
        return True
    a, b = " ".join(left), " ".join(right)
    return a in b or b in a or _within(left, right) or _within(right, left)


def is_refusal(text: str) -> bool:
    """Return whether a probe would be labelled without a judge."""
    return is_abstention(text)


def _words(text: str) -> list[str]:
    return squad_tokens(text) or text.lower().split()


def _within(part: list[str], whole: list[str]) -> bool:
    return all(part.count(word) <= whole.count(word) for word in set(part))
