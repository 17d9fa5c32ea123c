"""Docstrings begin with a verb or with what is returned, never with a clause that has to be read twice."""

from __future__ import annotations

import ast

import pytest

from tests.conftest import ROOT

CLAUSES = frozenset(
    ["How", "If", "So", "That", "What", "Whatever", "When", "Where", "Whether", "Which", "Who", "Whose", "Why"]
)
PACKAGES = sorted({path.relative_to(ROOT).parent.as_posix() for path in (ROOT / "runner").rglob("*.py")})


@pytest.mark.parametrize("package", PACKAGES)
def test_no_docstring_opens_with_a_clause(package: str) -> None:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = [
        f"{path.name}:{getattr(node, 'lineno', 1)} {text.splitlines()[0]}"
        for path in sorted((ROOT / package).glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, kinds) and (text := ast.get_docstring(node)) and text.split()[0].strip("`*,") in CLAUSES
    ]
    assert found == []
