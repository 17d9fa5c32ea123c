"""Write one history into a memory, and flag its rows with what was lost on the way."""

from __future__ import annotations

import time
from collections.abc import Callable

from runner.config import RunConfig
from runner.errors import IngestError, NotSettled
from runner.experiment import system_guard
from runner.experiment.deadline import with_deadline
from runner.system import MemorySystem, dated, receipt_of
from runner.types import INGEST_ALTERED, INGEST_TRUNCATED, NO_SOURCE_OF_TRUTH, TIMES_IN_TEXT, Ingest, Receipt, Scenario


class Ingester:
    """Writes histories into one system.

    Parameters
    ----------
    keep
        Records what a write really did.
    """

    def __init__(self, system: MemorySystem, config: RunConfig, keep: Callable[[Ingest], None]) -> None:
        self._system, self._config, self._keep = system, config, keep

    async def write(self, ns: str, scenario: Scenario) -> tuple[str, ...]:
        """Write one history; return the flags of its rows.

        Raises
        ------
        IngestError
            When a write failed, took too long, or says that it took other than what it was given.
        NotSettled
            When what was written could not be found in time.
        """
        system, config = self._system, self._config
        events = scenario.events if system.capabilities.timestamps else tuple(map(dated, scenario.events))
        await with_deadline("reset", IngestError, lambda: system.reset(ns), config.write_s, "run.write_s")
        start = time.perf_counter()
        returned = await with_deadline(
            "write", IngestError, lambda: system.write(ns, events), config.write_s, "run.write_s"
        )
        receipt = system_guard.receipt(returned)
        written = time.perf_counter()
        await with_deadline(
            "settle", NotSettled, lambda: system.settle(ns, receipt, config.settle_s), config.settle_s, "run.settle_s"
        )
        settled = time.perf_counter()
        if receipt.events != len(events):
            raise IngestError(f"{len(events)} events were written and the system took {receipt.events}")
        self._keep(
            Ingest(
                scenario=scenario.id,
                receipt=receipt,
                write_seconds=written - start,
                settle_seconds=settled - written,
            )
        )
        flags = [] if system.capabilities.timestamps else [TIMES_IN_TEXT]
        if receipt.truncated:
            flags.append(INGEST_TRUNCATED)
        if receipt.sha256 != receipt_of(events).sha256:
            flags.append(INGEST_ALTERED)
        if scenario.drop_derived:
            flags += await self._drop_derived(ns, receipt)
        return tuple(flags)

    async def lose(self, ns: str) -> None:
        """Reset the namespace of a system without a source of truth.

        All that such a system holds can be rebuilt, so it loses everything and must answer from nothing.

        Raises
        ------
        IngestError
            When it cannot be emptied.
        """
        await with_deadline("reset", IngestError, lambda: self._system.reset(ns), self._config.write_s, "run.write_s")

    async def _drop_derived(self, ns: str, receipt: Receipt) -> list[str]:
        """Take away everything that can be rebuilt; a system without a source of truth has nothing left.

        Raises
        ------
        IngestError, NotSettled
            When a durable system fails to drop it, or to answer again in time.
        """
        system, config = self._system, self._config
        if not system.capabilities.durable:
            return [NO_SOURCE_OF_TRUTH]
        await with_deadline("drop_derived", IngestError, lambda: system.drop_derived(ns), config.write_s, "run.write_s")
        await with_deadline(
            "settle", NotSettled, lambda: system.settle(ns, receipt, config.settle_s), config.settle_s, "run.settle_s"
        )
        return []
