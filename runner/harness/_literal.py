"""The text of a Python literal as data, as some published datasets hold what should have been JSON."""

from __future__ import annotations

import ast
import re
from typing import Final

from runner.harness._fields import Where

_LARGEST: Final = 8 << 20  # characters that are read
_DEEPEST: Final = 20  # brackets that may be open at once


def literal(where: Where, text: str) -> object:
    """A Python literal as data: nothing in it is executed, and its size and depth are bounded.

    Raises
    ------
    DatasetError
        When it is too large, nested too deeply, or no literal.
    """
    if len(text) > _LARGEST:
        raise where.fail(f"a literal of {len(text)} characters is larger than any published one")
    depth = deepest = 0
    for match in re.finditer(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|([\[{(])|([\]})])", text, re.DOTALL):
        depth += bool(match[1]) - bool(match[2])
        deepest = max(deepest, depth)
    if deepest > _DEEPEST:
        raise where.fail("the literal is nested too deeply")
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise where.fail("the text is not a Python literal") from None
