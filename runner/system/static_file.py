"""Documents only, as a file kept beside the agent: no conversation is remembered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from runner.system import Capabilities
from runner.system._retrieval.history_system import HistorySystem
from runner.types import Event, Query


class StaticFile(HistorySystem):
    """Events of kind ``doc``, oldest first to the budget. The documents are the source of truth: there is no index."""

    capabilities = Capabilities(durable=True, ranked=False)
    only_documents = True

    async def drop_derived(self, ns: str) -> None:
        """Do nothing: a file has no index."""

    def keeps(self, event: Event) -> bool:
        return event.kind == "doc"

    def choose(self, events: Sequence[Event], query: Query) -> Iterable[Event]:
        return filter(self.keeps, events)


SYSTEM = StaticFile
