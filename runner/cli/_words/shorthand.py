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
_EXAMPLES: Final = {"--question-type": "temporal-reasoning", "--answerer": "ask", "--ask-arms": "a,b"}
_SEVERAL: Final = ("--question-type", "--ask-arms")
FLAGS: Final = (*_VALUED, *_PLAIN)


def written_out(argv: Sequence[str]) -> list[str]:
    """Return the words with every shorthand as its keys, in the same order.

    A flag that takes several, named several times, counts once: ``--question-type a --question-type b``.

    Raises
    ------
    UsageError
        For a flag without its value, or an answerer that does not exist.
    """
    _refuse_two_answerers(argv)
    simplified = any(word.partition("=")[0] == "--simplify-model" for word in argv)
    parts: list[tuple[str, list[str]]] = []  # a flag with its values, or a word
    several: dict[str, list[str]] = {}
    words = iter(argv)
    for word in words:
        flag, sign, value = word.partition("=")
        if flag not in _VALUED:
            parts.append((word, []))
            continue
        value = value if sign else next(words, "")
        if not value or value.startswith("-"):
            raise UsageError(f"{flag}: give it a value ({flag} {_EXAMPLES.get(flag, 'NAME')})")
        if flag in several:
            several[flag].append(value)
            continue
        parts.append((flag, [value]))
        if flag in _SEVERAL:
            several[flag] = parts[-1][1]
    out: list[str] = []
    for word, values in parts:
        if values:
            out += [key for part in _VALUED[word] for key in _reader_of(part.replace("{}", ",".join(values)))]
        elif word in _PLAIN:
            # A model that simplifies is named: the scores are wanted all the same.
            out += [] if word == "--lexical-scores" and simplified else _PLAIN[word]
        else:
            out += _reader_of(word)
    return out


def _refuse_two_answerers(argv: Sequence[str]) -> None:
    """Refuse two words that name two answerers: neither may win in silence.

    Raises
    ------
    UsageError
        Naming both.
    """
    named: dict[str, str] = {}  # who answers, with the first word that says so
    for at, word in enumerate(argv):
        flag, _, value = word.partition("=")
        value = value or (argv[at + 1] if at + 1 < len(argv) and "=" not in word else "")
        by_name = value if flag in ("answerer", "--answerer") else ""
        if flag == "--ask-arms" or by_name == "ask" or word == "reader=ask":
            named.setdefault("the memory", word)
        elif by_name == "reader" or (flag == "reader" and "ask" not in value.split(",")):
            named.setdefault("a reader", word)
    if len(named) > 1:
        raise UsageError(
            f"{named['the memory']} has the memory answer, {named['a reader']} a reader: name one of the two "
            f"(both in a sweep: -m reader=ask,NAME)"
        )


def _reader_of(word: str) -> list[str]:
    """Return ``answerer=ask`` as the reader that it stands for, any other word as it is."""
    key, sign, value = word.partition("=")
    if key != "answerer" or not sign:
        return [word]
    if value not in _ANSWERERS:
        raise UsageError(f"answerer={value}: there are reader (a model over what is found) and ask (the memory itself)")
    return list(_ANSWERERS[value])
