"""MemoryAgentBench's own rules: what of an answer is compared, and how. Source: ``utils/eval_other_utils.py``.

All compare after SQuAD's normalisation (:func:`runner.score.lexical.squad_tokens`), and the best alias counts.

- **substring exact match**: an alias stands in the answer, anywhere, also inside a word or in a refusal; of EventQA
  only the first line is looked at, so that reciting the choices is no answer.
- **exact match**: the answer is an alias and nothing else. What is compared is what the task's prompt asks for: the
  number of a label, the ``answer`` of a JSON object, else the first line. ``upstream``: the first line, or the whole.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from runner.score.lexical import squad_tokens

_PREFIX: Final = re.compile(r"Answer:(.*)(?:\n|$)", re.IGNORECASE)
_ANSWER_FIELD: Final = re.compile(r'"answer"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)', re.IGNORECASE)
_LABEL: Final = re.compile(r"^[\s*_`\"'>]*label\s*[:=]?\s*", re.IGNORECASE)
_LETTER: Final = re.compile(r"^\s*([A-H])\s*[.):]\s*")
_CLOSED: Final = frozenset({"yes", "no", "noanswer"})  # answers that are right as a whole or not at all


def first_line(answer: str) -> str:
    r"""Return what follows "Answer:" on its line, else the first line.

    >>> first_line("Well.\nAnswer: Paris\nI am sure.")
    'Paris'
    """
    match = _PREFIX.search(answer)
    line = (match[1] if match else answer.partition("\n")[0]).strip()
    return re.sub(r"^Answer:", "", line, flags=re.IGNORECASE).strip()


def answer_given(answer: str) -> str:
    """Return the answer as the prompts ask for it, out of whatever stands around it.

    >>> [answer_given(text) for text in ("label: 4", '{"answer": "C. Fog", "reasoning": "It', "**Label: 7**", "Fog")]
    ['4', 'C. Fog', '7**', 'Fog']
    """
    field = _ANSWER_FIELD.search(answer)
    if field:
        try:
            return str(json.loads(field[1], strict=False))
        except ValueError:  # an escape that JSON does not know
            return field[1].strip('"')
    return _LABEL.sub("", first_line(answer.strip()))


def contains(answer: str, golds: Sequence[str]) -> bool:
    """Tell whether an alias stands in the answer.

    An alias of which nothing is left but articles and punctuation stands in no answer.
    """
    plain = _plain(answer)
    return any(gold in plain for gold in map(_plain, golds) if gold)


def matches(answer: str, golds: Sequence[str], *, letters: bool = False) -> bool:
    """Tell whether the answer is one of the aliases. ``letters``: "B.Fog" and "B. Fog" are one choice."""
    plain = _plain(_apart(answer) if letters else answer)
    return any(plain == _plain(_apart(gold) if letters else gold) for gold in golds)


def published(answer: str, golds: Sequence[str], *, whole: bool) -> dict[str, float]:
    """Return the string metrics as the published code computes them, from the first line of the answer.

    With ``whole``, each is the better of the first line and the whole answer.
    """
    tried = [answer, first_line(answer)] if whole else [first_line(answer)]
    return {
        "exact_match": float(any(matches(one, golds) for one in tried)),
        "substring_exact_match": float(any(contains(one, golds) for one in tried)),
        "token_f1": max(overlap(one, gold) for one in tried for gold in golds),
    }


def overlap(answer: str, gold: str) -> float:
    """Token F1 as published: 0 where nothing is left of either, and yes, no and "noanswer" are matched whole.

    >>> overlap("yes, it is", "Yes"), overlap("Yes.", "yes")
    (0.0, 1.0)
    """
    left, right = squad_tokens(answer), squad_tokens(gold)
    if left != right and any(len(words) == 1 and words[0] in _CLOSED for words in (left, right)):
        return 0.0
    same = sum((Counter(left) & Counter(right)).values())
    return 2 * same / (len(left) + len(right)) if same else 0.0


def _plain(text: str) -> str:
    return " ".join(squad_tokens(text))


def _apart(text: str) -> str:
    return _LETTER.sub(r"\1 ", text)
