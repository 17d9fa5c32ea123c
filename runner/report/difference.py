"""The table of ``diff``."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from runner.report.console import text


def table(rows: list[dict[str, Any]], a: str, b: str) -> Table:
    """Section, key, both values and the change where both are numbers."""
    out = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("", "key", a, b, "change"):
        out.add_column(text(name), overflow="fold", justify="right" if name == "change" else "left")
    for row in rows:
        change = "" if row["change"] is None else f"{row['change']:+.6g}"
        out.add_row(row["section"], text(row["key"]), _value(row["a"]), _value(row["b"]), change)
    return out


def _value(value: Any) -> Any:
    return text(f"{value:.6g}" if isinstance(value, float) else value)
