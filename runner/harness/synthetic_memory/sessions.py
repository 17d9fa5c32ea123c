"""The sessions of a synthetic history: when each starts, and which statement stands where."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import datetime

from runner.harness._base.draw import Draw
from runner.harness.synthetic_memory.statements import QuestionGroup, Statement


class Sessions:
    """A history of ``size`` events in ``count`` sessions, each in a month of its own."""

    def __init__(self, draw: Draw, size: int, count: int) -> None:
        self._draw, self._size, self._count = draw, size, count

    def bounds(self, session: int) -> tuple[int, int]:
        """Return the first position of a session and the one after its last."""
        return -(-session * self._size // self._count), -(-(session + 1) * self._size // self._count)

    def placed(self, groups: Sequence[QuestionGroup]) -> tuple[dict[int, Statement], list[list[int]]]:
        """Choose a position for every statement of every group; those that must lie in distinct months go first.

        Returns
        -------
        tuple
            The statements by position, and the positions of each group's statements in their order.
        """
        taken: dict[int, Statement] = {}
        places: list[list[int]] = [[] for _ in groups]

        def free_position(low: int, high: int) -> int:
            start = low + self._draw.below(high - low)
            for position in itertools.chain(range(start, high), range(low, start)):
                if position not in taken:
                    return position
            raise ValueError("no room")  # excluded by EVENTS_PER_QUESTION

        for number in sorted(range(len(groups)), key=lambda n: not groups[n].months):
            group = groups[number]
            ordered: list[int] = []
            sessions = sorted(self._draw.shuffled(range(self._count))[: group.series]) if group.months else []
            for step in range(group.series):
                bounds = self.bounds(sessions[step]) if group.months else (0, self._size)
                position = free_position(*bounds)
                taken[position] = group.statements[step]
                ordered.append(position)
            ordered.sort()
            for position, statement in zip(ordered, group.statements, strict=False):
                taken[position] = statement
            for statement in group.statements[group.series :]:
                position = free_position(0, self._size)
                taken[position] = statement
                ordered.append(position)
            places[number] = ordered
        return taken, places

    def starts(self) -> list[datetime]:
        """Draw when each session starts: the first days of distinct months, a month or two apart."""
        starts = []
        month = 12 * 2019 + self._draw.below(36)
        for _ in range(self._count):
            month += 1 + self._draw.chance(0.3)
            year, index = divmod(month, 12)
            starts.append(
                datetime(year, index + 1, 1 + self._draw.below(7), 8 + self._draw.below(12), self._draw.below(60))
            )
        return starts
