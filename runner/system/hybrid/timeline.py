"""The times of events: their own and those that they speak of, against the time that a question asks about."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from runner.system.hybrid.dates import Span, spans
from runner.types import Event

_DAY_S = 86_400.0
_EPOCH = datetime(1970, 1, 1)


def _seconds(moment: datetime) -> float:
    return (moment.replace(tzinfo=None) - _EPOCH).total_seconds()


class Timeline:
    """The stretches of time of every event: its own moment, and each date that its text names.

    Attributes
    ----------
    speaks
        Whether an event's text names a time, shape (n,).
    """

    def __init__(self, events: Sequence[Event]) -> None:
        self.size = len(events)
        self.speaks: NDArray[np.bool_] = np.zeros(self.size, dtype=bool)
        owner: list[int] = []
        bounds: list[tuple[float, float]] = []
        for at, event in enumerate(events):
            named = spans(event.text, event.time)
            self.speaks[at] = bool(named)
            for span in named:
                owner.append(at)
                bounds.append((_seconds(span.start), _seconds(span.end)))
            if event.time is not None:
                owner.append(at)
                bounds.append((_seconds(event.time), _seconds(event.time) + 1.0))
        self._owner = np.asarray(owner, dtype=np.intp)
        self._bounds = np.asarray(bounds, dtype=np.float64).reshape(-1, 2)

    def distance(self, asked: Sequence[Span]) -> NDArray[np.float64]:
        """Days from each event's nearest stretch to the nearest one asked for, shape (n,).

        0 inside it, infinite for an event without any time.
        """
        nearest = np.full(self.size, np.inf)
        for span in asked:
            start, end = _seconds(span.start), _seconds(span.end)
            gap = np.maximum(start - self._bounds[:, 1], self._bounds[:, 0] - end)
            np.minimum.at(nearest, self._owner, np.maximum(gap, 0.0) / _DAY_S)
        return nearest
