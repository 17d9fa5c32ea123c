"""The table of ``diff``, for a terminal and in Markdown."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from runner.report.console import text


def diff_table(rows: list[dict[str, Any]], a: str, b: str) -> Table:
    """Return section, key, both values and the change where both are numbers."""
    out = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("", "key", a, b, "change"):
        out.add_column(text(name), overflow="fold", justify="right" if name == "change" else "left")
    for row in rows:
        change = "" if row["change"] is None else f"{row['change']:+.6g}"
        out.add_row(row["section"], text(row["key"]), _value(row["a"]), _value(row["b"]), change)
    return out


def _value(value: Any) -> Any:
    return text(f"{value:.6g}" if isinstance(value, float) else value)


def diff_markdown(rows: list[dict[str, Any]], a: str, b: str) -> str:
    """Return the rows as a GitHub table, cells escaped."""
    lines = [f"| | key | {_cell(a)} | {_cell(b)} | change |", "|---|---|---|---|---|"]
    for row in rows:
        change = "" if row["change"] is None else f"{row['change']:+.6g}"
        lines.append(f"| {row['section']} | {_cell(row['key'])} | {_cell(row['a'])} | {_cell(row['b'])} | {change} |")
    return "\n".join(lines)


def _cell(value: Any) -> str:
    shown = f"{value:.6g}" if isinstance(value, float) else str(value)
    return shown.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
