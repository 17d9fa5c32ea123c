"""The base of bridges whose requests are templates in the arm's YAML, over a server that the arm may start itself."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Sequence
from functools import cached_property
from typing import Any, TypeVar

from runner.dotted import described
from runner.http import start_of
from runner.system._bridge.answer_paths import AnswerPaths
from runner.system._bridge.bridge import Bridge
from runner.system._bridge.faults import BridgeError
from runner.system._bridge.server_process import ServerProcess
from runner.system._bridge.template import TemplateField, event_values, fill, placeholders_in, unknown_placeholders
from runner.types import Event

T = TypeVar("T")


class TemplatedBridge(Bridge):
    """A bridge that fills templates with events, questions and the arm's knobs.

    Subclasses write :meth:`_disconnect` besides the steps of a bridge.
    """

    _host: ServerProcess | None = None

    async def _disconnect(self) -> None:
        """Let go of every connection."""
        raise NotImplementedError

    async def _close(self) -> None:
        host, self._host = self._host, None
        try:
            await self._disconnect()
        finally:
            if host is not None:
                await host.stop()

    @cached_property
    def _knobs(self) -> dict[str, Any]:
        """The arm's knobs by their placeholders."""
        return {f"knobs.{name}": value for name, value in (self.knobs.model_extra or {}).items()}

    # --- checks -----------------------------------------------------------------------------------------------------

    def _template_problems(self, parts: Iterable[TemplateField], unsent: str) -> list[str]:
        """Return a line for every placeholder that nothing fills and every knob that no template sends."""
        found: list[str] = []
        sent: set[str] = set()
        for key, value, known in parts:
            found += unknown_placeholders(value, [*known, *self._knobs], f"arm.settings.{key}")
            sent |= {*placeholders_in(value)}
        unread = [name for name in self._knobs if name not in sent]
        return [*found, *(f"arm.{name}: {unsent}; write {{{name}}} where it belongs" for name in unread)]

    def _ask_problems(self, ask: AnswerPaths | None, absent: str) -> list[str]:
        """Return a line for an answer without paths, or for one that is declared and never asked for."""
        if ask is not None:
            return ask.problems("arm.settings.ask.")
        key = "arm.settings.declares.capabilities.answers"
        return [f"{key}: is true and {absent}"] if self.settings.declares.capabilities.answers else []

    # --- requests ---------------------------------------------------------------------------------------------------

    def _write_values(self, ns: str, events: Sequence[Event], item: Any) -> dict[str, Any]:
        """Return the placeholders of a write: those of one event, or ``events`` as filled items."""
        if item is None:
            return {"ns": ns, **event_values(events[0])}
        return {"ns": ns, "events": [fill(item, {**event_values(event), **self._knobs}) for event in events]}

    async def _with_server_end(self, request: Awaitable[T]) -> T:
        """Return the answer to a request; a failure also says how the arm's own server ended."""
        try:
            return await request
        except BridgeError as trouble:
            if self._host is not None and self._host.why:
                raise BridgeError(f"{trouble}; {self._host.why}") from None
            raise

    def _implied_capabilities(self, *, asks: bool, starts: bool) -> dict[str, bool]:
        """Return the capabilities that follow from how the arm drives the system.

        Parameters
        ----------
        asks
            Whether the arm has a request for an answer.
        starts
            Whether this run starts the system: one that ends with the run keeps what its arm says.
        """
        return {"answers": asks and self._offers("answers", True), "existing": self._offers("existing", not starts)}


def check_taken(taken: Any, path: str, events: Sequence[Event], answer: Any) -> None:
    """Check the number of events that an answer says were taken.

    Raises
    ------
    BridgeError
        When it is another than was sent.
    """
    if isinstance(taken, bool) or taken != len(events):
        raise BridgeError(
            f"{len(events)} events were sent and '{path}' says {start_of(str(taken), 40)}; "
            f"the answer is {described(answer)}"
        )
