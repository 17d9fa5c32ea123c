"""The contract of a memory system, and the look-up by name.

To add an arm for a system that is here: one YAML in ``conf/arm/``. To add a system: ``runner/system/NAME.py`` with a
class that subclasses :class:`MemorySystem` and is bound to ``SYSTEM``. Nothing else: the module is imported on demand
from the validated name. ``tests/system/test_conformance.py`` runs against every system.
"""

from __future__ import annotations

from typing import Final

from runner.config import ArmConfig
from runner.errors import ConfigError
from runner.lookup import Registry
from runner.system._base.build_id import build_version, is_shipped
from runner.system._base.contract import (
    Capabilities,
    MemorySystem,
    NoIngest,
    NoKnobs,
    NoSettings,
    Opening,
    Prepared,
    Provenance,
)
from runner.system._base.embedded import EmbeddedSystem
from runner.system._base.hits import hit_of, within
from runner.system._base.text import dated, line_of, receipt_of, spoken

__all__ = [
    "Capabilities",
    "EmbeddedSystem",
    "MemorySystem",
    "NoIngest",
    "NoKnobs",
    "NoSettings",
    "Opening",
    "Prepared",
    "Provenance",
    "build",
    "build_version",
    "dated",
    "find",
    "hit_of",
    "is_shipped",
    "line_of",
    "names",
    "receipt_of",
    "spoken",
    "within",
]


_REGISTRY: Final[Registry[MemorySystem]] = Registry(__name__, MemorySystem, "SYSTEM", "arm.system")
names, find = _REGISTRY.names, _REGISTRY.find


def build(arm: ArmConfig) -> MemorySystem:
    """The system that an arm names, its settings and knobs checked.

    Raises
    ------
    ConfigError
        With every problem of the arm, or when a system other than the shipped oracle asks to read the gold.
    """
    from runner.system._rewrite.settings import VERBATIM, split_ingest

    kind = find(arm.system)
    rewrite, own = split_ingest(arm, kind)
    system = kind(own)
    if system.capabilities.reads_gold and not (arm.system == "oracle" and is_shipped(type(system))):
        raise ConfigError(
            [
                f"arm.system: '{arm.system}' sets capabilities.reads_gold, which is kept for the shipped control "
                "'oracle': a memory that is told the answers measures nothing; leave it False"
            ]
        )
    if rewrite.mode == VERBATIM:
        return system
    from runner.system._rewrite.rewritten import RewritingSystem

    return RewritingSystem(arm, system, rewrite)
