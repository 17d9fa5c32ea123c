"""Read the text of a Python literal as data, as some published datasets hold what should have been JSON."""

from __future__ import annotations

import ast
import re
from typing import Final

from runner.data.fields import FieldReader

_LARGEST: Final = 8 << 20  # characters that are read
_DEEPEST: Final = 20  # brackets that may be open at once
_HALF: Final = re.compile("[\ud800-\udfff]")


def parse_literal(where: FieldReader, text: str) -> object:
    """Return a Python literal as data: nothing in it is executed, and its size and depth are bounded.

    Raises
    ------
    DatasetError
        When it is too large, nested too deeply or not a literal, and when a field stands twice in it.
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
        tree = ast.parse(text.lstrip(" \t"), mode="eval")
        value: object = ast.literal_eval(tree)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise where.fail("the text is not a Python literal") from None
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            keys = [key.value for key in node.keys if isinstance(key, ast.Constant)]
            if len(set(keys)) < len(keys):
                twice = next(key for key in keys if keys.count(key) > 1)
                raise where.fail(f"the literal has the field '{str(twice)[:60]}' twice in one object")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _HALF.search(node.value):
            raise where.fail("the literal holds half of a character")
    return value
