"""The class of a benchmark: what it lacks, and the digest of a person's own code."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Final

import msgspec

from runner import lookup
from runner.harness._base.contract import Harness
from runner.types import Metric

_REQUIRED: Final = ("name", "categories", "comparable", "cluster")  # attributes of the class that have no default
_WRITTEN: Final = ("read", "dataset", "score_retrieval")  # methods that every benchmark has of its own
_HOME: Final = Path(__file__).resolve().parents[1]


def class_problems(kind: type[Harness], name: str) -> list[str]:
    """Return what the class of a harness lacks; empty when it has all.

    Parameters
    ----------
    name
        Name of the module, which the class must bear.
    """
    missing = [attribute for attribute in _REQUIRED if not hasattr(kind, attribute)]
    if missing:
        examples = {"categories": '{"1": "all"}', "comparable": 'frozenset({"1"})', "cluster": '"conversation"'}
        examples["name"] = repr(name)
        return [
            f"harness '{name}': {kind.__name__} has no '{attribute}' ({attribute} = {examples[attribute]})"
            for attribute in missing
        ]
    unwritten = [step for step in _WRITTEN if getattr(kind, step) is getattr(Harness, step)]
    if unwritten:
        return [f"harness '{name}': {kind.__name__} does not write {', '.join(f'{step}()' for step in unwritten)}"]
    if kind.name != name:
        return [f"harness '{name}': {kind.__name__}.name is {kind.name!r}; it is the name of its file, {name!r}"]
    return _metric_problems(kind, name)


def _metric_problems(kind: type[Harness], name: str) -> list[str]:
    """Return what is wrong with the declarations of the metrics; those that only an instance has are not looked at."""
    declared: Any = kind.metrics
    if isinstance(declared, property):
        return []
    where, example = f"harness '{name}': {kind.__name__}.metrics", 'metrics = (Metric("quotes", share=True),)'
    if not isinstance(declared, tuple) or not all(isinstance(metric, Metric) for metric in declared):
        return [f"{where} is a tuple of runner.types.Metric ({example})"]
    try:
        msgspec.convert(msgspec.to_builtins(declared), tuple[Metric, ...])
    except (msgspec.MsgspecError, TypeError) as error:
        return [f"{where} cannot be recorded ({error}); mend it ({example})"]
    twice = [metric for metric, n in Counter(metric.name for metric in declared).items() if n > 1]
    return [f"{where} has '{twice[0]}' twice; keep one of them"] if twice else []


def code_of(harness: Harness) -> str:
    """Return ``@sha256:…`` over the code of a person's own harness, for the instrument; empty for a shipped one."""
    own = [cls for cls in type(harness).__mro__ if issubclass(cls, Harness) and not lookup.is_within(cls, _HOME)]
    return f"@sha256:{lookup.code_sha256(own)}" if own else ""
