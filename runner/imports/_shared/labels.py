"""Read a label in another harness's words as one of ours. Nothing is graded here."""

from __future__ import annotations

import math
import re
from typing import Final

from runner.types import ABSTAIN, CORRECT, JUDGE_ERROR, JUDGE_UNPARSEABLE, WRONG

_WORDS: Final = {
    **dict.fromkeys(("yes", "true", "correct", "right", "pass", "1"), CORRECT),
    **dict.fromkeys(("no", "false", "wrong", "incorrect", "fail", "0"), WRONG),
    **dict.fromkeys(("abstain", "abstained"), ABSTAIN),
    **dict.fromkeys(("error", "null", "none", "nan"), JUDGE_ERROR),
}
_FIRST: Final = re.compile(r"^[\s*_`#\"'>({\[]*(\w+)")
MISSING: Final = "missing"


def label_of(value: object) -> tuple[str, str]:
    """Return a label and its wording in the file.

    A truth value, 1 or 0, or a text whose first word is one that judges use: ``yes``, ``"Yes."``, ``no, because …``.
    Only the first word counts: "not correct" is no label, and neither is "yes" somewhere in a sentence.

    Returns
    -------
    tuple
        One of ``types.LABELS``, ``judge_error`` for a label that is missing, or ``judge_unparseable``; and the words of
        the file, short.
    """
    if value is None:
        return JUDGE_ERROR, MISSING
    if isinstance(value, bool):
        return (CORRECT if value else WRONG), str(value).lower()
    if isinstance(value, int | float):
        if not math.isfinite(value):
            return JUDGE_ERROR, MISSING
        return (CORRECT if value == 1 else WRONG if value == 0 else JUDGE_UNPARSEABLE), f"{value:g}"
    if not isinstance(value, str):
        return JUDGE_UNPARSEABLE, type(value).__name__
    if not value.strip():
        return JUDGE_ERROR, MISSING
    found = _FIRST.match(value)
    label = _WORDS.get(found[1].lower(), JUDGE_UNPARSEABLE) if found else JUDGE_UNPARSEABLE
    return label, shorten(value)


def shorten(value: str) -> str:
    """Return the start of a text on one line, as a vocabulary shows it."""
    line = " ".join(value.split())
    return line if len(line) <= 24 else line[:23] + "…"
