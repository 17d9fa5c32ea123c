"""The gate: two recorded runs to pairs, comparability, statistics and a verdict. Offline, without a model.

>>> from runner.gate import compare
>>> print(compare("outputs/2026-11-30/093512-123456/0-arms_off", "outputs/2026-11-30/093512-123456/1-arms_on"))

``sweep`` pairs the arms of a sweep, ``arm`` opens a run, ``compare_arms`` compares two of them, ``refusals`` holds what
stands against a verdict, ``comparison`` is the result. ``noise_band`` measures the noise from an A/A sweep.
``judge_correction`` (``gate.calibration``) and ``human_check`` (``gate.human``) add what the judge's own errors,
or people, make of the difference.
"""

from __future__ import annotations

from pathlib import Path

from runner.config import GateConfig
from runner.errors import UsageError
from runner.gate.arm import Arm, open_arm
from runner.gate.compare_arms import compare_arms
from runner.gate.comparison import Comparison
from runner.gate.human_check import add_human_check
from runner.gate.judge_correction import add_judge_correction
from runner.gate.noise_band import resolve_band
from runner.record.rundir import RunDir, is_run

__all__ = [
    "Arm",
    "Comparison",
    "add_human_check",
    "add_judge_correction",
    "compare",
    "compare_arms",
    "open_arm",
    "resolve_band",
]


def compare(run_a: str | Path, run_b: str | Path, settings: GateConfig | None = None) -> Comparison:
    """Compare two recorded runs, B against A.

    Parameters
    ----------
    run_a, run_b
        Run directories; A is the baseline.
    settings
        Gate settings; those recorded with A when ``None``.

    Raises
    ------
    UsageError, RecordError
        When one is not a run that this version can read.
    """
    opened = []
    for path in (Path(run_a), Path(run_b)):
        if not is_run(path):
            raise UsageError(f"{path}: not a run directory (no config.yaml)")
        opened.append(RunDir(path))
    chosen = settings or opened[0].experiment().gate
    names = [run.experiment().arm.name for run in opened]
    if names[0] == names[1]:
        names = [run.path.name for run in opened]
    a, b = (open_arm(run, name, chosen) for run, name in zip(opened, names, strict=True))
    chosen, note = resolve_band(chosen, [a, b])
    pair = compare_arms(a, b, chosen)
    pair.notes += [note] if note else []
    add_judge_correction([([a, b], [pair])], chosen)
    add_human_check([([a, b], [pair])], chosen)
    return pair
