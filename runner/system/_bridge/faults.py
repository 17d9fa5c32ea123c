"""Failures between a bridge and its system, before it is known which step of the contract they break."""

from __future__ import annotations

from runner.errors import RunnerError


class BridgeError(RunnerError):
    """A call that failed, in one line. The bridge raises it again as the fault of the step that made the call."""


class RequestRefused(BridgeError):
    """The system answered that it refuses: it is alive and in step."""
