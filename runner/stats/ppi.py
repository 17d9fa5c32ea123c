"""A mean from few labels of people and many of a judge: prediction-powered inference.

People's labels are right and few, the judge's many and sometimes wrong. The estimate is the judge's mean over what
nobody labelled plus the judge's mean error where people did (Angelopoulos et al. 2023), with the weight of the judge
tuned to the data (PPI++, Angelopoulos, Duchi and Zrnic 2023): a judge that says nothing gets no weight, which leaves
the people alone. Computed by ppi-python (extra ``ppi``), which takes items as independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from runner.errors import MissingExtra, UsageError
from runner.stats.export import Exportable
from runner.stats.resample import Floats


@dataclass(frozen=True)
class PredictionPowered(Exportable):
    """A mean by prediction-powered inference, in the unit of the labels (0 and 1), with its 95 % interval.

    Attributes
    ----------
    labelled, unlabelled
        Items that people labelled, and those with the judge's label only.
    weight
        Of the judge, λ in 0 .. 1: 0 is the mean of the people's labels alone.
    raw
        The judge's mean over all of these items.
    people
        The people's mean over those that they labelled.
    """

    mean: float
    low: float
    high: float
    labelled: int
    unlabelled: int
    weight: float
    raw: float
    people: float

    def __str__(self) -> str:
        return (
            f"{self.mean:+.4f}, 95% CI {self.low:+.4f} .. {self.high:+.4f} ({self.labelled} labelled, "
            f"{self.unlabelled} not; weight of the judge {self.weight:.2f}; raw {self.raw:+.4f})"
        )


def prediction_powered(y: Floats, predicted: Floats, rest: Floats, weight: float | None = None) -> PredictionPowered:
    """The mean of a label that people gave to some items and a judge to all.

    Mean = λ·mean(f, unlabelled) + mean(y − λ·f, labelled); variance = Var(λ·f)/N + Var(y − λ·f)/n; normal interval.

    Parameters
    ----------
    y, predicted
        People's and the judge's value of the labelled items, shape (n,).
    rest
        The judge's value of the others, shape (N,); may be empty, then people's labels are all there is.
    weight
        λ; ``None`` tunes it (PPI++), clipped to 0 .. 1: Cov(y, f) / ((1 + n/N)·Var(f)).

    Raises
    ------
    UsageError
        For no label, or lengths that differ.
    MissingExtra
        Without ppi-python.
    """
    if y.size == 0 or y.size != predicted.size:
        raise UsageError(f"people: {y.size} labels for {predicted.size} answers; give one for each, and at least one")
    mean_ci, point, classical = load_library()
    pooled = np.concatenate([predicted, rest])
    lam = weight
    if lam is None:
        lam = _tuned(y, predicted, rest, pooled)
    if not rest.size or lam == 0:
        lam, center, bounds = 0.0, float(y.mean()), classical(y, alpha=0.05)
    else:
        center = float(np.squeeze(point(y, predicted, rest, lam=lam)))
        bounds = mean_ci(y, predicted, rest, alpha=0.05, lam=lam)
    low, high = (float(np.squeeze(bound)) for bound in bounds)
    return PredictionPowered(center, low, high, y.size, rest.size, lam, float(pooled.mean()), float(y.mean()))


def _tuned(y: Floats, predicted: Floats, rest: Floats, pooled: Floats) -> float:
    """The weight that makes the variance least, in 0 .. 1; 0 where the judge says the same of every item."""
    variance = float(pooled.var(ddof=1)) if pooled.size > 1 else 0.0
    if not rest.size or variance == 0:
        return 0.0
    covariance = float(((y - y.mean()) * (predicted - predicted.mean())).mean())
    return min(1.0, max(0.0, covariance / ((1 + y.size / rest.size) * variance)))


def load_library() -> tuple[Any, Any, Any]:
    """Return the functions of ppi-python that are used.

    Raises
    ------
    MissingExtra
        When it is not installed.
    UsageError
        When it is, and does not import.
    """
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what its dependencies say at import concerns no user of ours
            from ppi_py import classical_mean_ci, ppi_mean_ci, ppi_mean_pointestimate
    except ImportError:
        raise MissingExtra("gate.human", "ppi") from None
    except Exception as error:  # numba, on which it stands, fails in ways of its own
        reason = f"{type(error).__name__}: {error}"
        raise UsageError(f"gate.human: ppi-python is installed and cannot be imported ({reason}); mend that") from error
    return ppi_mean_ci, ppi_mean_pointestimate, classical_mean_ci
