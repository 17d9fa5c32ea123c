"""Declarations that a person may make where records leave something unknown, as commands ready to be typed."""

from __future__ import annotations

import shlex
from typing import Final

from runner.config import GateConfig
from runner.gate.arm import Arm
from runner.record.compare import Comparability
from runner.record.instrument import GROUPS, incomparable, rows_named

# Rows without which there is nothing to compare: no declaration makes up for a difference here.
_NEVER: Final = frozenset({"axis", "harness", "slice.sha256", "slice.questions"})


def remedy(found: Comparability, a: Arm, b: Arm, settings: GateConfig) -> str:
    """Return the gate's own command with the declarations that would let it compare; empty where none would.

    What is known of both runs and differs can never be declared the same: it is named, and left to the person.
    """
    open_rows = [c.row for c in found.confounds if incomparable(c.row, c.a, c.b)]
    differ = [c.row for c in found.confounds if c.row not in open_rows]
    if not open_rows or _NEVER & {*differ, *open_rows}:
        return ""
    words = [f"{word}=treatment" for word in settings.treatment if word != "served"]
    words += [f"{word}=same" for word in settings.same]
    of_group = {row: group for group, rows in GROUPS.items() for row in rows}
    # Another system under test brings its own build and embedder: they are part of what is compared.
    system = "treatment" if found.treatment else "same"
    for row in open_rows:
        name = of_group.get(row, row)
        words.append(f"{name}={system if name == 'system' else 'same'}")
    words += ["reader.prompt=treatment"] if "reader.prompt" in open_rows and _prompts(a, b) else []
    declared = " ".join(f"--declare {word}" for word in dict.fromkeys(words))
    declared += " 'gate.treatment=[served]'" if "served" in settings.treatment else ""
    command = f"python -m runner gate {shlex.quote(str(a.run.path))} {shlex.quote(str(b.run.path))} {declared}"
    advice = f"where you know what the records do not, declare it: {command}"
    if differ:
        rows = " and ".join(differ)
        advice += (
            f" — {rows} {'is' if len(differ) == 1 else 'are'} known and no declaration makes the runs the same there; "
            f"add --declare {differ[0]}=treatment if that is what you compare"
        )
    return advice


def doubts(a: Arm, b: Arm, settings: GateConfig) -> list[str]:
    """Return what speaks against a declaration: two records whose readers had prompts of different names."""
    names = _prompts(a, b)
    if not names or "reader.prompt" in rows_named(word for word in settings.treatment if word != "served"):
        return []
    return [
        f"the readers' prompts have other names in the files, {names[0]} and {names[1]}: if their texts differ, they "
        f"are part of what is compared (--declare reader.prompt=treatment)"
    ]


def _prompts(a: Arm, b: Arm) -> tuple[str, str] | None:
    """Return the names of two imported readers' prompts, where both are told and differ."""
    one, two = (arm.config["reader"] for arm in (a, b))
    imported = one["provider"] == two["provider"] == "imported"
    differ = imported and one["prompt"] and two["prompt"] and one["prompt"] != two["prompt"]
    return (one["prompt"], two["prompt"]) if differ else None
