"""The namespaces that a system holds, and the ids of the events written to each."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from runner.errors import IngestError, SystemFault
from runner.types import Event


@dataclass
class Namespace:
    """One namespace: the ids of its events, and the lock under which it is written to."""

    ids: set[str] = field(default_factory=set)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


N = TypeVar("N")


class Namespaces(dict[str, N]):
    """Namespaces by name, from the first reset or write until they are erased."""

    def written(self, ns: str, fault: type[SystemFault]) -> N:
        """Return a namespace that was written to.

        Raises
        ------
        SystemFault
            ``fault``, when there is no such namespace.
        """
        space = self.get(ns)
        if space is None:
            raise fault(f"namespace '{ns}' was never written or is erased; write to it first")
        return space


def new_ids(written: Collection[str], events: Sequence[Event]) -> set[str]:
    """Return the ids of events that are about to be written to a namespace.

    Parameters
    ----------
    written
        The ids that the namespace has already.

    Raises
    ------
    IngestError
        When an id is there already or comes twice.
    """
    ids: set[str] = set()
    for event in events:
        if event.id in written or event.id in ids:
            raise IngestError(f"event '{event.id}' was written twice; event ids are unique within a scenario")
        ids.add(event.id)
    return ids
