"""The contract of a benchmark, and the look-up by name.

To add one: ``runner/harness/NAME.py`` (or a folder ``NAME/``) with a class that subclasses :class:`Harness` and is
bound to ``HARNESS``, and ``conf/harness/NAME.yaml``. Nothing else: the module is imported on demand from the
validated name. What several benchmarks share is in ``_base/``.
"""

from __future__ import annotations

from typing import Final

from runner.config import HarnessConfig
from runner.errors import ConfigError
from runner.harness._base.classes import class_problems, code_of
from runner.harness._base.contract import DatasetInfo, Harness, NoSettings
from runner.harness._base.faults import faults_of, own_code
from runner.harness._base.report import Line, Table
from runner.harness._base.slices import Census
from runner.lookup import Registry

__all__ = [
    "Census",
    "DatasetInfo",
    "Harness",
    "Line",
    "NoSettings",
    "Table",
    "build",
    "code_of",
    "find",
    "names",
    "shipped",
]


_REGISTRY: Final = Registry(__name__, Harness, "HARNESS", "harness.name")
names, shipped = _REGISTRY.names, _REGISTRY.shipped


def find(name: str) -> type[Harness]:
    """Return the harness class of that name.

    Raises
    ------
    ConfigError
        When there is no such harness; the message lists those that exist.
    """
    kind = _REGISTRY.find(name)
    problems = class_problems(kind, name)
    if problems:
        raise ConfigError(problems)
    return kind


def build(config: HarnessConfig) -> Harness:
    """Return the harness that a config names, its settings checked."""
    kind = find(config.name)
    with own_code(config.name, "its construction"), faults_of(config.name):
        return kind(config)
