"""Parts of a benchmark's own section of a report: plain text, which the report prints safely."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Line:
    """One line of text."""

    text: str
    style: Literal["", "bold", "dim"] = ""


@dataclass(frozen=True)
class Table:
    """Rows under named columns; the first column is aligned left, the others right."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def figure(value: object, digits: int = 3) -> str:
    """Return a number as a person reads it; a metric without a denominator as a dash, never NaN."""
    return f"{value:.{digits}f}" if isinstance(value, int | float) else "–"
