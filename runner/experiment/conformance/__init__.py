"""Check whether a memory system keeps its contract, on the real system and with a handful of events.

The findings are kept in the user's cache under the arm, its settings and its build. Every later run of that system
records them, so that a gate can say beside a verdict that an arm ignores k or forgets the time of an event.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from runner.config import ArmConfig, RunConfig, digest
from runner.errors import RunnerError
from runner.experiment.conformance.clauses import Clauses
from runner.experiment.conformance.driver import BROKEN, KEPT, STATED, ClauseResult
from runner.record.files import LastCheck
from runner.record.provenance import now
from runner.safe import mask
from runner.system import MemorySystem, Opening, Provenance

__all__ = ["BROKEN", "KEPT", "STATED", "Conformance", "Finding", "check", "remember", "remembered"]

log = logging.getLogger("runner")


@dataclass(frozen=True)
class Finding:
    """One clause of the contract and how it stands."""

    check: str
    outcome: str  # KEPT, BROKEN or STATED
    detail: str


@dataclass
class Conformance:
    """The result of a check: what was sent, what came back, and a finding per clause."""

    arm: str
    system: str
    opened: dict[str, Any]
    capabilities: dict[str, Any]
    sent: dict[str, Any] = field(default_factory=dict)
    returned: dict[str, Any] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    checked: str = ""

    @property
    def broken(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.outcome == BROKEN]

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "conforms": not self.broken}


async def check(system: MemorySystem, opening: Opening, limits: RunConfig) -> Conformance:
    """Hold a system to its contract.

    Parameters
    ----------
    system
        Built from its arm, not opened yet. It is closed at the end, and everything that was written is erased.
    opening
        What a run would hand to it.
    limits
        Deadlines, as of a run.

    Raises
    ------
    RunnerError
        When the system does not open: there is nothing to check then.
    """
    opened = await system.open(opening)
    about = Conformance(system.arm.name, system.arm.system, asdict(opened), asdict(system.capabilities), checked=now())
    clauses = Clauses(system, limits)
    try:
        for name, clause in clauses.all():
            about.findings.append(await _finding(name, clause))
    finally:
        about.sent, about.returned = clauses.sent, clauses.returned
        await clauses.erase_all()
        await system.close()
    return about


async def _finding(name: str, clause: Callable[[], Awaitable[ClauseResult]]) -> Finding:
    try:
        return Finding(name, *await clause())
    except (RunnerError, TimeoutError) as error:
        return Finding(name, BROKEN, mask(str(error) or "no answer in time")[:300])
    except Exception as error:
        log.exception("%s", name)
        reason = mask(f"{type(error).__name__}: {error}")[:300]
        return Finding(name, BROKEN, f"an untyped exception, {reason}")


# --- the cache that later runs read --------------------------------------------------------------------------------


def _cache_path(cache: Path, arm: ArmConfig, opened: Provenance) -> Path:
    identity = [arm.system, arm.ingest, arm.settings, arm.knobs, opened.build, opened.embedder]
    return cache / "conformance" / f"{digest(identity)}.json"


def remember(cache: Path, arm: ArmConfig, about: Conformance) -> None:
    """Keep the findings for later runs; a cache that cannot be written costs the note in their record."""
    opened = Provenance(**about.opened)
    path = _cache_path(cache, arm, opened)
    entry = {"checked": about.checked, "broken": [f"{item.check}: {item.detail}" for item in about.broken]}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(entry, ensure_ascii=False), encoding="utf-8")
    except OSError as error:
        log.warning("%s: %s", path, error.strerror)


def remembered(cache: Path | None, arm: ArmConfig, opened: Provenance) -> LastCheck:
    """Return when this system was last checked and what was broken; empty when it was never checked."""
    if cache is None:
        return LastCheck()
    try:
        value = json.loads(_cache_path(cache, arm, opened).read_text(encoding="utf-8"))
        return LastCheck(checked=str(value["checked"]), broken=[str(item) for item in value["broken"]])
    except (OSError, ValueError, KeyError, TypeError):
        return LastCheck()
