"""The effect of a judge's own errors on a difference between arms, and its correction.

A judge that passes right answers at rate TPR and wrong ones at FPR shows TPR·p + FPR·(1 − p) for a true accuracy p, so
a difference shrinks by Youden's J = TPR − FPR. Dividing by J undoes that (Rogan and Gladen 1978), provided that both
arms meet the same rates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from runner.errors import UsageError
from runner.stats.export import Exportable

CAVEATS: Final = (
    "assumes that the judge errs at the same rates in both arms",
    "known-right probes are rephrased gold, easier than real answers, so J is likely too high",
    "probes are taken as independent: where a judge errs by conversation, these intervals are too narrow",
)
JUDGE_UNINFORMATIVE: Final = "judge_uninformative"
JUDGE_TOO_WEAK: Final = "judge_too_weak"
_Z: Final = 1.959963984540054  # 97.5 % point of the normal


@dataclass(frozen=True)
class JudgeRates(Exportable):
    """A judge's grades of probes whose truth is known.

    Attributes
    ----------
    right_passed, right
        Known-right probes graded CORRECT, and all of them.
    wrong_passed, wrong
        Known-wrong probes graded CORRECT, and all of them.
    """

    right_passed: int
    right: int
    wrong_passed: int
    wrong: int

    def __post_init__(self) -> None:
        for name, passed, total in (
            ("known-right", self.right_passed, self.right),
            ("known-wrong", self.wrong_passed, self.wrong),
        ):
            if total < 1:
                raise UsageError(f"calibration: no {name} probe was graded; both kinds are needed, so calibrate again")
            if not 0 <= passed <= total:
                raise UsageError(f"calibration: {passed} of {total} {name} probes passed, which cannot be")

    @property
    def tpr(self) -> float:
        return self.right_passed / self.right

    @property
    def fpr(self) -> float:
        return self.wrong_passed / self.wrong

    @property
    def j(self) -> float:
        """Youden's J = TPR − FPR."""
        return self.tpr - self.fpr

    @property
    def var_j(self) -> float:
        """TPR(1 − TPR)/n₁ + FPR(1 − FPR)/n₀, rates smoothed to (x + 1)/(m + 2): a perfect score is not certain."""
        tpr = (self.right_passed + 1) / (self.right + 2)
        fpr = (self.wrong_passed + 1) / (self.wrong + 2)
        return tpr * (1 - tpr) / self.right + fpr * (1 - fpr) / self.wrong

    def __str__(self) -> str:
        return (
            f"TPR {self.tpr:.3f} ({self.right_passed} of {self.right}), FPR {self.fpr:.3f} "
            f"({self.wrong_passed} of {self.wrong}), J {self.j:+.3f}"
        )

    def to_dict(self) -> dict[str, float | int]:
        """Counts and what follows from them."""
        return {**super().to_dict(), "tpr": self.tpr, "fpr": self.fpr, "j": self.j, "var_j": self.var_j}


@dataclass(frozen=True)
class Corrected(Exportable):
    """A difference corrected for the judge, in the unit of the input.

    ``flag`` is ``None``; or ``judge_uninformative`` (J ≤ 0: the numbers are the raw ones, unchanged); or
    ``judge_too_weak`` (J within its own noise of 0: there are no corrected numbers).
    """

    mean: float | None
    low: float | None
    high: float | None
    j: float
    flag: str | None
    caveats: tuple[str, ...] = CAVEATS

    def __str__(self) -> str:
        if self.mean is None or self.low is None or self.high is None:
            return f"not corrected ({self.flag}, J {self.j:+.3f})"
        state = "unchanged" if self.flag else "corrected"
        return f"{state} {self.mean:+.4f}, 95% CI {self.low:+.4f} .. {self.high:+.4f} (J {self.j:+.3f})"


def correct_for_judge(mean: float, low: float, high: float, rates: JudgeRates) -> Corrected:
    """Δ/J with an interval that carries the calibration's own variance (delta method).

    lo' = Δ/J − hypot((Δ − lo)/J, z·se) and hi' = Δ/J + hypot((hi − Δ)/J, z·se), with se = |Δ|·√VarJ/J².
    With J > 0 the sign of the difference cannot change.

    Parameters
    ----------
    mean, low, high
        The raw difference and its 95 % interval.
    rates
        From a calibration with the same judge, rubric, dataset and repeats.

    Raises
    ------
    UsageError
        When the three numbers are not finite and in order.
    """
    if not (math.isfinite(low) and math.isfinite(high) and low <= mean <= high):
        raise UsageError(f"calibration: {low} .. {high} is not an interval about {mean}")
    j, noise = rates.j, math.sqrt(rates.var_j)
    if j <= 0:
        return Corrected(mean, low, high, j, JUDGE_UNINFORMATIVE)
    if j <= _Z * noise:
        return Corrected(None, None, None, j, JUDGE_TOO_WEAK)
    point, extra = mean / j, _Z * abs(mean) * noise / j**2
    return Corrected(
        point, point - math.hypot((mean - low) / j, extra), point + math.hypot((high - mean) / j, extra), j, None
    )
