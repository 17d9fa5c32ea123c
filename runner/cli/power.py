"""``power KEY=VALUE`` or ``power DIR``: what a number of questions can show, and how many it takes. Asks no model.

``effect`` and ``min_delta`` are percentage points, as ``gate.min_delta`` is. ``discordance``, ``icc``, ``power`` and
``alpha`` are shares.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, get_args

from runner.cli._words.flags import Flags
from runner.config import did_you_mean
from runner.errors import ConfigError, UsageError
from runner.stats.interval import Mode
from runner.stats.planning.design import DISCORDANCE, GUESSED, ICC, Assumed, Design, Goal
from runner.stats.planning.outlook import Outlook, outlook

_WHOLE: Final = ("n", "clusters")
_SHARES: Final = ("discordance", "icc", "power", "alpha")
_POINTS: Final = ("effect", "min_delta")
_WORDS: Final = ("interval", "arm")
KEYS: Final = (*_WHOLE, *_SHARES, *_POINTS, *_WORDS)
_FLAGS: Final = Flags("power", switches=("--json",), there=f"there is --json, and {', '.join(f'{k}=' for k in KEYS)}")
_N: Final = 500
_MOST: Final = 10**9


def main(argv: list[str]) -> int:
    given = _FLAGS.parse(argv)
    typed, places = _parsed(given.words)
    answer = _answer(typed, places)
    if "--json" in given:
        print(json.dumps(answer.to_dict(), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        from runner.report.console import console
        from runner.report.power import power_tables

        console().print(power_tables(answer.outlook, answer.unit, answer.notes))
    return 0


@dataclass(frozen=True)
class _Answer:
    outlook: Outlook
    unit: str
    notes: list[str]

    def to_dict(self) -> dict[str, Any]:
        return {**self.outlook.to_dict(), "notes": self.notes}


def _answer(typed: dict[str, Any], places: list[Path]) -> _Answer:
    notes: list[str] = []
    sizes = None
    assumed = GUESSED
    mode: Mode = "auto"
    min_delta, band, unit = 0.0, 4.0, "cluster"
    if places:
        from runner.cli.plan_from_runs import recorded

        found = recorded(places, typed.get("arm"))
        notes += found.notes
        sizes, mode, min_delta, unit = found.sizes, found.settings.interval, found.settings.min_delta, found.unit
        band = float(found.settings.band) if not isinstance(found.settings.band, str) else band
        assumed = found.assumed or assumed
    elif "arm" in typed:
        raise UsageError("arm: names an arm of a recorded sweep: python -m runner power DIR arm=NAME")
    mode = typed.get("interval", mode)
    design = _design(typed, sizes, mode, notes)
    assumed = _assumed(typed, assumed, notes)
    points = typed.get("min_delta", min_delta)
    goal = Goal(points / 100, typed.get("alpha", 0.05), typed.get("power", 0.8))
    if "alpha" in typed and goal.alpha != 0.05:
        notes.append("the gate decides on a 95 % interval: alpha changes what is detected, and not what a gate says")
    effect = _effect(typed.get("effect"), assumed, goal, notes)
    return _Answer(outlook(design, assumed, goal, effect=effect, band=band / 100), unit, notes)


def _design(typed: dict[str, Any], sizes: Any, mode: Mode, notes: list[str]) -> Design:
    """Return the design: typed values win over recorded ones; n or clusters alone keeps the recorded cluster size."""
    n, clusters = typed.get("n"), typed.get("clusters")
    if sizes is not None:
        if n is None and clusters is None:
            return Design.from_sizes(sizes, mode)
        size = float(sizes.sum()) / sizes.size
        if n is None:
            n = max(1, round(clusters * size))
        elif clusters is None:
            clusters = min(n, max(1, round(n / size)))
        notes.append(f"clusters of one size are taken, {n / clusters:.1f} questions each; recorded are {size:.1f}")
    n = _N if n is None else n
    if clusters is None:
        clusters = n
        notes.append(
            "clusters: not given, so that every question stands alone; questions about one history do not (clusters=N)"
        )
    if clusters > n:
        raise UsageError(f"clusters: {clusters} is more than n={n}; a cluster has at least one question")
    return Design(n, clusters, mode=mode)


def _assumed(typed: dict[str, Any], before: Assumed, notes: list[str]) -> Assumed:
    psi, icc = typed.get("discordance", before.discordance), typed.get("icc", before.icc)
    if not psi:
        raise UsageError("discordance: 0 means that the arms never disagree, and then there is nothing to detect")
    guessed = [
        f"{name} {value:g}"
        for name, value in (("discordance", DISCORDANCE), ("icc", ICC))
        if name not in typed and not before.source
    ]
    if guessed:
        notes.append(f"assumed, not measured: {' and '.join(guessed)}; power DIR takes them from a recorded sweep")
    return Assumed(psi, icc, before.source)


def _effect(points: float | None, assumed: Assumed, goal: Goal, notes: list[str]) -> float | None:
    if points is None:
        return None
    if points == goal.min_delta * 100:
        more = "0 takes no questions to find" if not points else "a difference on the threshold is never resolved"
        raise UsageError(f"effect: {more}; give a difference in percentage points (effect=5)")
    if abs(points) > assumed.discordance * 100 + 1e-9:
        raise UsageError(
            f"effect: {points:g} points cannot be where arms disagree on {assumed.discordance * 100:.3g} % of the "
            f"questions; they differ by that much at most (discordance={abs(points) / 100:g} or more)"
        )
    if abs(points) < 0.5:
        notes.append(f"effect={points:g} is {points:g} percentage points; five points are effect=5")
    return points / 100


def _parsed(words: list[str]) -> tuple[dict[str, Any], list[Path]]:
    """Return keys with their values, and directories.

    Raises
    ------
    ConfigError
        With every wrong key and value.
    """
    typed: dict[str, Any] = {}
    places: list[Path] = []
    problems = []
    for word in words:
        key, sign, value = word.partition("=")
        if not sign or Path(word).is_dir():
            if not Path(word).is_dir():
                close = did_you_mean(word, [*KEYS, "--json"])
                raise UsageError(f"{word}: no such directory{close}; power takes KEY=VALUE or recorded runs")
            places.append(Path(word))
            continue
        try:
            if key not in KEYS:
                raise UsageError(f"{key}: no such key{did_you_mean(key, KEYS)}; there are {', '.join(KEYS)}")
            if key in typed:
                raise UsageError(f"{key}: is given twice")
            typed[key] = _value(key, value.strip())
        except UsageError as error:
            problems.append(str(error))
    if problems:
        raise ConfigError(problems)
    return typed, places


def _value(key: str, text: str) -> Any:
    if key == "interval":
        if text not in get_args(Mode):
            raise UsageError(f"interval: '{text}' is not known; choose {' or '.join(get_args(Mode))}")
        return text
    if key == "arm":
        return text
    share = key in _SHARES
    try:
        number = float(text)
    except ValueError:
        hint = ""
        if text.endswith("%") and _is_number(text[:-1]):
            plain = float(text[:-1])
            hint = f"; it is a share, {text} is {key}={plain / 100:g}" if share else f"; write {key}={plain:g}"
        raise UsageError(f"{key}: '{text}' is not a number{hint}") from None
    if not math.isfinite(number):
        raise UsageError(f"{key}: '{text}' is not a number")
    if key in _WHOLE:
        if number != int(number) or not 1 <= number <= _MOST:
            raise UsageError(f"{key}: '{text}' must be a whole number from 1 to {_MOST}")
        return int(number)
    if share and not 0 <= number <= 1:
        hint = f" ({number:g} % is {key}={number / 100:g})" if 1 < number <= 100 else ""
        raise UsageError(f"{key}: {number:g} lies outside 0 .. 1; it is a share{hint}")
    if key in _POINTS and abs(number) > 100:
        raise UsageError(f"{key}: {number:g} lies outside -100 .. 100 percentage points")
    return number


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
