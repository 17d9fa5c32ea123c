"""The order of events by score, ties in event order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Order = NDArray[np.intp]


def order(scores: Floats, above: float | None = None) -> Order:
    """Positions by descending score, ties in event order; only those strictly above a bound when there is one."""
    ranked = np.argsort(-scores, kind="stable")
    return ranked if above is None else ranked[scores[ranked] > above]
