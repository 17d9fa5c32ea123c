"""The lines below a verdict about its judge: what a calibration and people's labels say of the difference."""

from __future__ import annotations

from runner.calibration.probes import SPECIFIC, VAGUE, WORDS
from runner.gate.comparison import Correction, HumanCheck, JudgeCorrection
from runner.report.console import category
from runner.stats.judge_error import JUDGE_TOO_WEAK, JUDGE_UNINFORMATIVE


def judge_lines(check: JudgeCorrection) -> list[str]:
    """Return what a calibration says beside a verdict, one line per statement, in percentage points."""
    lines = [_judge_line("corrected for the judge", SPECIFIC, check.specific)]
    if check.vague is None:
        lines.append("no vague wrong answer was graded: how often the judge passes those is not known")
    else:
        lines.append(_judge_line("the same if wrong answers are vague", VAGUE, check.vague))
    for kind, correction in (("corrected", check.specific), ("corrected for vague answers", check.vague)):
        if correction is not None and correction.verdict not in (None, check.raw):
            verdict = str(correction.verdict).upper()
            lines.append(f"raw verdict {check.raw.upper()}, {kind} {verdict}; the raw one decides")
    for name, correction in check.categories.items():
        lines.append(f"category {category(name)} corrected: {_numbers(correction)}")
    lines += check.notes
    lines.append(f"the raw verdict decides; a corrected number {'; '.join(check.caveats)}")
    return lines


def human_lines(check: HumanCheck) -> list[str]:
    """Return what people's labels say beside a verdict, one line per statement, in percentage points."""
    difference = check.difference
    lines = [f"people: {check.reason}"] if check.reason else []
    if difference is not None:
        lines.append(
            f"with {difference.labelled} pairs labelled by people: {difference.mean * 100:+.1f} pp, "
            f"{difference.low * 100:+.1f} .. {difference.high * 100:+.1f} (raw {difference.raw * 100:+.1f}; people "
            f"alone {difference.people * 100:+.1f}; weight of the judge {difference.weight:.2f}); the raw verdict "
            f"decides"
        )
    for name, arm in check.arms.items():
        if arm is not None:
            lines.append(
                f"{name}: accuracy {arm.mean:.3f} ({arm.low:.3f} .. {arm.high:.3f}) with {arm.labelled} answers "
                f"labelled by people, {arm.raw:.3f} by the judge"
            )
    for name, item in check.against.items():
        kappa = "none (one label only)" if item.agreement.kappa is None else f"{item.agreement.kappa:.2f}"
        lines.append(
            f"{name}: judge and people agree on {item.agreement.raw:.1%} of {item.agreement.n} answers, kappa "
            f"{kappa}; the judge alone passes {item.judge_only}, people alone {item.people_only}"
        )
    if check.unused:
        lines.append(f"{check.unused} labels are of answers outside the headline, or that the judge did not label")
    if difference is not None or any(arm is not None for arm in check.arms.values()):
        lines += check.caveats
    return lines


def _judge_line(what: str, kind: str, correction: Correction) -> str:
    rates = correction.rates
    judged = (
        f"TPR {rates.tpr:.3f} of {rates.right}, FPR {rates.fpr:.3f} of {rates.wrong} {WORDS[kind].split(', ')[1]} "
        f"wrong answers, J {rates.j:+.3f}"
    )
    return f"{what} ({judged}): {_numbers(correction)}"


def _numbers(correction: Correction) -> str:
    result = correction.result
    if result.flag == JUDGE_UNINFORMATIVE:
        return (
            f"{JUDGE_UNINFORMATIVE}, J ≤ 0: the judge tells right from wrong no better than chance; nothing is changed"
        )
    if result.mean is None or result.low is None or result.high is None:
        return f"{JUDGE_TOO_WEAK}: J is within its own noise of 0; the raw number stands, calibrate with more probes"
    beyond = " (no difference is above 100 points: J is too small for a correction of use)"
    points = f"{result.mean * 100:+.1f} pp, {result.low * 100:+.1f} .. {result.high * 100:+.1f}"
    return points + (beyond if max(abs(result.low), abs(result.high)) > 1 else "")
