"""The terminals that tables are printed on. Text from data is never read as markup."""

from __future__ import annotations

import os
import sys

from rich.console import Console
from rich.text import Text

from runner.safe import printable


def console() -> Console:
    """Return standard output, as wide as a table needs where it is not a terminal: logs and pipes keep every figure."""
    return Console(width=None if sys.stdout.isatty() else _width(), markup=False, highlight=False, emoji=False)


def error_console() -> Console:
    """Return standard error, for progress and warnings."""
    return Console(stderr=True, markup=False, highlight=False, emoji=False)


def _width() -> int:
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdigit() and int(columns) >= 40 else 500


def text(value: object, style: str = "") -> Text:
    """Return untrusted text for a cell: control characters are shown, never obeyed."""
    return Text(printable(str(value)), style=style)


def category(name: str) -> str:
    """Return a category as a table shows it, ``1 multi-hop``; once, where its id is its name."""
    half = len(name) // 2
    return name[:half] if name == f"{name[:half]} {name[:half]}" else name


def counted(number: object, noun: str, many: str | None = None) -> str:
    """Return a number with its noun: ``1 scenario``, ``30 scenarios``."""
    return f"{number} {noun}" if number == 1 else f"{number} {many or noun + 's'}"
