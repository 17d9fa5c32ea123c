"""The table of ``check``: every clause of the contract, and what was seen of it."""

from __future__ import annotations

from rich.console import Group
from rich.table import Table

from runner.experiment.conformance import BROKEN, KEPT, Conformance
from runner.report.console import counted, text

_STYLES = {KEPT: "green", BROKEN: "bold red"}


def conformance_table(about: Conformance) -> Group:
    """Return a row per clause, then what was sent and what came back."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("contract", "", "what was seen"):
        table.add_column(name)
    for finding in about.findings:
        style = _STYLES.get(finding.outcome, "yellow")
        table.add_row(text(finding.check), text(finding.outcome, style), text(finding.detail))
    lines = [f"build {about.opened['build']}, embedder {about.opened['embedder']}"]
    if about.sent:
        sent = about.sent
        roles = "kept" if sent["roles"] else "lost"
        lines.append(
            f"sent: {counted(sent['events'], 'event')}, times {sent['times']}, roles {roles}, "
            f"{sent['truncated']} truncated, sha256 {sent['sha256'][:16]}"
        )
    for hit in about.returned.get("sample", ()):
        lines.append(f"came back: {hit['key']}: {hit['text']}")
    closing = f"{counted(len(about.broken), 'clause')} broken" if about.broken else "the contract is kept"
    return Group(
        text(f"{about.arm} (system {about.system})", "italic"),
        table,
        *(text(line, "dim") for line in lines),
        text(closing, "bold red" if about.broken else "green"),
    )
