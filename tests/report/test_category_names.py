"""How a category is shown: id and name, once where they are the same."""

from __future__ import annotations

import pytest

from runner.report.console import category


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("1 multi-hop", "1 multi-hop"),
        ("multi-session multi-session", "multi-session"),
        ("who what who what", "who what"),
        ("a a", "a"),
        ("aa", "aa"),
        ("a", "a"),
        ("", ""),
        ("overall_all", "overall_all"),
    ],
)
def test_a_category_is_said_once(name: str, shown: str) -> None:
    assert category(name) == shown
