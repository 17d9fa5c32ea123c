"""Flags that other harnesses taught people, as the config keys that they mean.

A flag is written out before anything else reads the command line: the record and every message speak of the key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from runner.errors import UsageError

# With a value: what it becomes, {} being the value.
_VALUED: Final = {
    "--question-type": ("slice.categories=[{}]",),
    "--answerer": ("answerer={}",),
    "--ask-arms": ("-m", "reader=ask", "+arm={}"),
    "--simplify-model": ("run.lexical={}",),
}
# Without one.
_PLAIN: Final = {
    "--stale-check": ("harness.settings.stale_check=true",),
    "--lexical-scores": ("run.lexical=judge",),
}
_ANSWERERS: Final = {"ask": ("reader=ask",), "reader": ()}
_SEVERAL: Final = ("--question-type", "--ask-arms")
FLAGS: Final = (*_VALUED, *_PLAIN)


def written_out(argv: Sequence[str]) -> list[str]:
    """The words with every shorthand as its keys; the order stays.

    Raises
    ------
    UsageError
        For a flag without its value, or an answerer that is none.
    """
    _agree(argv)
    argv = _joined(argv)
    out: list[str] = []
    simplified = any(word.partition("=")[0] == "--simplify-model" for word in argv)
    words = iter(argv)
    for word in words:
        flag, sign, value = word.partition("=")
        if flag in _VALUED:
            given = value if sign else next(words, "")
            if not given or given.startswith("-"):
                raise UsageError(f"{flag}: give it a value ({flag} {_example(flag)})")
            out += [item for part in _VALUED[flag] for item in _answerer(part.replace("{}", given))]
        elif word in _PLAIN:
            # A model that simplifies is named: the scores are wanted all the same.
            out += [] if word == "--lexical-scores" and simplified else _PLAIN[word]
        else:
            out += _answerer(word)
    return out


def _joined(argv: Sequence[str]) -> list[str]:
    """A flag that takes several, named several times, as one: ``--question-type a --question-type b``."""
    words, first = list(argv), dict.fromkeys(_SEVERAL, -1)
    out: list[str] = []
    at = 0
    while at < len(words):
        flag, sign, value = words[at].partition("=")
        step = 1
        if flag in _SEVERAL and not sign and at + 1 < len(words) and not words[at + 1].startswith("-"):
            value, step = words[at + 1], 2
        if flag in _SEVERAL and value and first[flag] >= 0:
            out[first[flag]] += f",{value}"
        elif flag in _SEVERAL and value:
            first[flag] = len(out)
            out.append(f"{flag}={value}")
        else:
            out.append(words[at])
            step = 1
        at += step
    return out


def _agree(argv: Sequence[str]) -> None:
    """Refuse two words that name two answerers: neither may win in silence.

    Raises
    ------
    UsageError
        Naming both.
    """
    said: dict[str, str] = {}  # who answers, by the first word that says so
    for at, word in enumerate(argv):
        flag, _, value = word.partition("=")
        value = value or (argv[at + 1] if at + 1 < len(argv) and "=" not in word else "")
        by_name = value if flag in ("answerer", "--answerer") else ""
        if flag == "--ask-arms" or by_name == "ask" or word == "reader=ask":
            said.setdefault("the memory", word)
        elif by_name == "reader" or (flag == "reader" and "ask" not in value.split(",")):
            said.setdefault("a reader", word)
    if len(said) > 1:
        raise UsageError(
            f"{said['the memory']} has the memory answer, {said['a reader']} a reader: name one of the two "
            f"(both in a sweep: -m reader=ask,NAME)"
        )


def _answerer(word: str) -> list[str]:
    """``answerer=ask`` as the reader that it is; any other word as it is."""
    key, sign, value = word.partition("=")
    if key != "answerer" or not sign:
        return [word]
    if value not in _ANSWERERS:
        raise UsageError(f"answerer={value}: there are reader (a model over what is found) and ask (the memory itself)")
    return list(_ANSWERERS[value])


def _example(flag: str) -> str:
    return {"--question-type": "temporal-reasoning", "--answerer": "ask", "--ask-arms": "a,b"}.get(flag, "NAME")
