"""The lines of a smoke test: a threshold each, then what keeps it from passing."""

from __future__ import annotations

from runner.analysis.smoke import Check, Smoke


def smoke_lines(smoke: Smoke) -> list[str]:
    """Return one line per threshold, then what keeps the test from passing beside them."""
    lines = [_threshold_line(check) for check in smoke.checks]
    if smoke.fakes:
        lines.append(f"smoke test refused: fake provider ({', '.join(smoke.fakes)}): nothing here is a pass")
    elif smoke.errors:
        failed = "1 question" if smoke.errors == 1 else f"{smoke.errors} questions"
        which = f" ({'' if smoke.errors == 1 else 'first '}{smoke.first})" if smoke.first else ""
        lines.append(f"smoke test failed: {failed} could not be scored{which}, and it takes none that fails")
    elif smoke.left:
        lines.append(f"smoke test incomplete: {smoke.left} questions are missing")
    return lines


def _threshold_line(check: Check) -> str:
    value = "not measured" if check.value is None else f"{check.value:.6g}"
    verdict = "reached" if check.reached else "not reached"
    return f"smoke test, {check.metric}: {verdict} ({value}, threshold {check.threshold:g}, n {check.n})"
