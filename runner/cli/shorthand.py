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
FLAGS: Final = (*_VALUED, *_PLAIN)


def written_out(argv: Sequence[str]) -> list[str]:
    """The words with every shorthand as its keys; the order stays.

    Raises
    ------
    UsageError
        For a flag without its value, or an answerer that is none.
    """
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
