"""Choices read strictly from an answer: the one word or letter that it names, or none and the reason why.

Nothing is guessed from words that merely resemble a name. In this order, and the first that says anything decides:

1. a JSON object with a field ``choice``, ``answer``, ``option``, ``label`` or ``letter``;
2. an answer that is the name and nothing else, whatever brackets, emphasis or quotes are around it;
3. a letter and after it, word for word, the option that it stands for ("B. Plan C");
4. statements such as "Answer: B" or "the correct option is (B)", where they all say the same;
5. a letter with which the answer begins or that stands in brackets, or a word wherever it stands; all the same again.

In 4 and 5 a name that is denied is not named: "not (B)", "does not entail", "A is wrong".
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

_FIELDS: Final = frozenset({"choice", "answer", "option", "label", "letter"})
_FENCE: Final = re.compile(r"\s*```\w*\s*\n(.*?)\n?\s*```\s*", re.DOTALL)
_EDGE: Final = " \t\r\n*_`\"'“”‘’()[]<>.:;,!#"
_STATED: Final = (
    r"\b(?:answer|choice|option|label|verdict)\b(?:\s+(?:is|would\s+be|must\s+be))?"
    r"(?:\s+(?:option|choice|letter))?\s*[:=]?[\s*_`\"'(\[]*"
)
_LED: Final = re.compile(r"[\s*_`\"'(\[]*([A-Za-z])[*_`\"']*[.):\]]+[*_`\"']*\s*(\S.*)", re.DOTALL)
# What stands right before or right after a name and denies it. Other words in between may change what is denied.
_NOT: Final = re.compile(
    r"(?:\b(?:not|no|never|cannot|without|non|rather than|instead of)|n['’]t)(?:[^\S\n]+|-)"
    r"(?:(?:an?|the|any|be|been|being|really|actually|strictly|necessarily|logically|directly|clearly|fully|choose|pick|"
    r"option|choice|answer|letter)[^\S\n]+){0,3}[*_`\"'“‘(\[]*$",
    re.IGNORECASE,
)
_DENIED: Final = re.compile(
    r"[*_`\"'”’)\].]*\s+(?:(?:(?:is|was|does|do|can|would|could|are)[^\S\n]*(?:not\b|n['’]t\b)|cannot\b)|"
    r"(?:is|was|are|would be)[^\S\n]+(?:wrong|incorrect|false|untrue|ruled out|excluded)\b)",
    re.IGNORECASE,
)
_BESIDE: Final = 80  # characters before and after a name in which it may be denied
_LONGEST: Final = 200_000  # characters of an answer that are looked at
_SHOWN: Final = 60


@dataclass(frozen=True)
class Choice:
    """The option that an answer names: ``value``, empty when it names none or several; ``why`` says which.

    ``several`` is true when it named more than one: it answered, and chose nothing.
    """

    value: str
    why: str = ""
    several: bool = False


def letter(answer: str, options: Mapping[str, str]) -> Choice:
    """Return the option that an answer to a multiple choice names by its letter.

    The text of an option without its letter does not count as a choice: published scorers compare letters.

    Parameters
    ----------
    answer
        What was answered.
    options
        Letter, a capital, to text.

    >>> letter("The answer is (B).", {"A": "Rome", "B": "Oslo"}).value
    'B'
    >>> letter("A or B", {"A": "Rome", "B": "Oslo"}).why
    'names A and B'
    """
    text = answer[:_LONGEST]
    fields = _fields(text)
    if fields is not None:
        return _single((letter(value, options).value or value for value in fields), options)
    bare = text.strip(_EDGE).upper()
    if bare in options:
        return Choice(bare)
    led = _LED.fullmatch(text)
    if led and _words(led[2]) == _words(options.get(led[1].upper(), "")):
        return Choice(led[1].upper())
    # "A" before a word is an article as likely as a choice ("the answer is a dog"), and so is a letter inside an
    # option's text ("Plan C"): what counts is a letter that is marked as one.
    some = rf"([{(one := ''.join(options))}](?:\s*(?:,|/|&|\bor\b|\band\b)\s*[{one}]\b)*)"
    ends = r"(?=\s*(?:[.):,;\]*_\"'`\n–—]|-\s|$)|\s+(?:is|was|because|since|as)\b)"
    stated = _undenied(rf"(?i:{_STATED}){some}{ends}", text) + _undenied(
        rf"(?i:{_STATED}([{one}]))(?=[.)\]*_\"'`\s]*(?:\n|$))", text
    )
    marked = _undenied(rf"\A[\s*_`\"'(\[]*{some}{ends}", text) + _undenied(rf"\(([{one}])\)", text)
    lists = stated or marked
    return _single((name for item in lists for name in re.findall(rf"\b[{one}]\b", item.upper())), options)


def word(answer: str, forms: Mapping[str, re.Pattern[str]]) -> Choice:
    """Return the one of a few words that an answer names.

    Parameters
    ----------
    answer
        What was answered.
    forms
        Each name, and the pattern of its forms as whole words.
    """
    text = answer[:_LONGEST]
    fields = _fields(text)
    if fields is not None:
        return _single((name for value in fields for name in list(_named(value, forms)) or [value]), forms)
    bare = text.strip(_EDGE)
    alone = [name for name, form in forms.items() if form.fullmatch(bare)]
    if alone:
        return _single(alone, forms)
    stated = [
        name
        for match in re.finditer(rf"{_STATED}(\w+)", text, re.IGNORECASE)
        for name, form in forms.items()
        if form.fullmatch(match[1]) and not _denied(text, *match.span(1))
    ]
    return _single(stated or _named(text, forms), forms)


_NLI: Final = {
    "entailment": re.compile(r"\bentail(?:s|ed|ment|ments)?\b", re.IGNORECASE),
    "neutral": re.compile(r"\bneutral\b", re.IGNORECASE),
    "contradiction": re.compile(r"\bcontradict(?:s|ed|ion|ions|ory)?\b", re.IGNORECASE),
}


def nli(answer: str) -> Choice:
    """Return which of entailment, neutral and contradiction an answer names.

    >>> nli("Contradiction.").value
    'contradiction'
    >>> nli("neither entailment nor contradiction").several
    True
    """
    return word(answer, _NLI)


def _single(found: Iterable[str], known: Collection[str]) -> Choice:
    """Return the single name that was found, if it is one of the options."""
    names = list(dict.fromkeys(found))
    if not names:
        return Choice("", "names none")
    if len(names) > 1:
        return Choice("", f"names {' and '.join(' '.join(name.split())[:_SHOWN] for name in names[:4])}", several=True)
    if names[0] not in known:
        return Choice("", f"names '{' '.join(names[0].split())[:_SHOWN]}', which is none of {', '.join(known)}")
    return Choice(names[0])


def _fields(text: str) -> list[str] | None:
    """Return the values of the fields of an answer in JSON; ``None`` when it is not a JSON object with one of them."""
    fenced = _FENCE.fullmatch(text)
    inner = (fenced[1] if fenced else text).strip()
    if not inner.startswith("{"):
        return None
    try:
        # Pairs, so that a key that stands twice is seen twice.
        pairs = json.loads(inner, object_pairs_hook=list)
    except (ValueError, RecursionError):
        return None
    if not isinstance(pairs, list) or not all(isinstance(pair, tuple) for pair in pairs):
        return None
    chosen = [value for key, value in pairs if key.lower() in _FIELDS]
    return [value if isinstance(value, str) else json.dumps(value) for value in chosen] or None


def _named(text: str, forms: Mapping[str, re.Pattern[str]]) -> Iterator[str]:
    return (
        name for name, form in forms.items() if any(not _denied(text, *match.span()) for match in form.finditer(text))
    )


def _undenied(pattern: str, text: str) -> list[str]:
    """Return the one group of a pattern wherever it stands and is not denied."""
    return [match[1] for match in re.finditer(pattern, text) if not _denied(text, *match.span(1))]


def _denied(text: str, start: int, end: int) -> bool:
    before, after = text[max(0, start - _BESIDE) : start], text[end : end + _BESIDE]
    return _NOT.search(before) is not None or _DENIED.match(after) is not None


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
