"""The class of a benchmark: what it lacks, and the digest of a person's own code."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from runner import lookup
from runner.harness._base.contract import Harness

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
    return []


def code_of(harness: Harness) -> str:
    """Return ``@sha256:…`` over the code of a person's own harness, for the instrument; empty for a shipped one."""
    own = [cls for cls in type(harness).__mro__ if issubclass(cls, Harness) and not lookup.is_within(cls, _HOME)]
    return f"@sha256:{lookup.code_sha256(own)}" if own else ""
