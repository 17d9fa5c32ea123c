"""A sweep's directory: which jobs it was to run, how they stand, which of them pair."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import runner
from runner.config import GateConfig, checked
from runner.errors import RecordError, RunnerError, UsageError
from runner.gate import Arm, Comparison, add_human_check, add_judge_correction, compare_arms, open_arm, resolve_band
from runner.gate.arm import RunRecord
from runner.record.names import distinct_names
from runner.record.rundir import FORMAT, RunDir, is_run
from runner.record.sweepdir import Sweep, setting_of
from runner.stats.multiple import holm


@dataclass(frozen=True)
class Group:
    """Arms that were run under one instrument, and the pairs of each with the baseline."""

    setting: dict[str, Any]  # what sets this group apart from the others of the sweep
    arms: list[Arm]
    baseline: str
    comparisons: list[Comparison]


@dataclass(frozen=True)
class SweepVerdict:
    """The verdict of a sweep.

    ``outcome`` is the worst of its pairs, in the order incomplete, refused, fail, unresolved, pass; ``null`` for an
    A/A sweep and ``none`` when there was nothing to compare. A pair that cannot be measured (a control without a
    ranking, beside arms that have one) decides only where there is no other.
    """

    settings: GateConfig
    groups: list[Group]
    failed: list[tuple[str, str]]  # jobs without a complete run: name and reason

    @property
    def outcome(self) -> str:
        outcomes = {pair.outcome for group in self.groups for pair in group.comparisons}
        if self.failed or "incomplete" in outcomes:
            return "incomplete"
        for name in ("refused", "fail", "unresolved", "pass", "null", "unmeasurable"):
            if name in outcomes:
                return name
        return "none"

    @property
    def exit_code(self) -> int:
        codes = {"incomplete": 1, "refused": 5, "unmeasurable": 5, "fail": 3, "unresolved": 4}
        return codes.get(self.outcome, 0)

    def to_dict(self) -> dict[str, Any]:
        """Return what ``gate.json`` holds."""
        return {
            "format": FORMAT,
            "runner": runner.__version__,
            "outcome": self.outcome,
            "exit_code": self.exit_code,
            "settings": self.settings.model_dump(mode="json"),
            "incomplete": [{"job": name, "reason": reason} for name, reason in self.failed],
            "groups": [
                {
                    "setting": group.setting,
                    "baseline": group.baseline,
                    "arms": [_arm_to_dict(arm, group) for arm in group.arms],
                    "comparisons": [pair.to_dict() for pair in group.comparisons],
                }
                for group in self.groups
            ],
        }


def _arm_to_dict(arm: Arm, group: Group) -> dict[str, Any]:
    """Return an arm for JSON; one that was decided early is not unfinished."""
    plain = arm.to_dict()
    early = any(pair.b == arm.name and pair.early is not None for pair in group.comparisons)
    return {**plain, "state": "decided"} if early and arm.left else plain


def gate(paths: Sequence[Path | Sweep], changes: dict[str, Any] | None = None) -> SweepVerdict:
    """Gate recorded runs.

    Parameters
    ----------
    paths
        One sweep directory, listed already or not, or run directories in order, the baseline first.
    changes
        Gate settings that replace the recorded ones.

    Raises
    ------
    UsageError
        When there is no run, or a setting is wrong.
    RecordError
        When a run cannot be read.
    """
    failed: list[tuple[str, str]] = []
    first: str | None = None  # the arm that the sweep began with: the baseline, whether or not it ran
    runs: list[RunDir] = []
    sweeps = [path if isinstance(path, Sweep) else Sweep(path) for path in paths]
    for sweep in sweeps:
        if is_run(sweep.path):
            runs.append(RunDir(sweep.path))
        elif sweep.is_planned or sweep.runs:
            runs += sweep.runs
            failed += sweep.failed
            first = sweep.first_arm if sweep.failed and len(paths) == 1 else None
        else:
            raise UsageError(f"{sweep.path}: neither a run (no config.yaml) nor a sweep")
    if len({run.path.resolve() for run in runs}) < len(runs):
        raise UsageError("gate: a run was named twice; a run compared with itself says nothing")
    if not runs:
        if failed:
            return SweepVerdict(GateConfig(), [], failed)
        raise UsageError(f"{', '.join(str(sweep.path) for sweep in sweeps)}: holds no run")
    settings = _settings(runs[0], changes or {})
    records: list[RunRecord] = []
    for run in runs:
        try:
            instrument = run.instrument()
        except RunnerError as error:
            if len(runs) == 1 or (isinstance(error, RecordError) and "format" in str(error)):
                raise
            failed.append((run.path.name, str(error)))
            continue
        records.append(RunRecord(run, run.experiment().model_dump(mode="json"), instrument))
    grouped = _grouped(records) if len(paths) == 1 else [({}, records)]
    groups = []
    for setting, members in grouped:
        opened = [open_arm(record, name, settings) for record, name in zip(members, _names(members), strict=True)]
        groups.append(_gate_group(setting, opened, settings, first))
    compared = [(group.arms, group.comparisons) for group in groups]
    add_judge_correction(compared, settings)
    add_human_check(compared, settings)
    for group in groups:
        failed += [(arm.name, arm.reason) for arm in group.arms if arm.state != "complete" and len(group.arms) == 1]
        failed += [(arm.name, "every question failed") for arm in group.arms if len(arm.data) and not arm.data.ok.any()]
        if len(groups) > 1 and len(group.arms) == 1:
            failed.append((group.arms[0].name, "compared with nothing: no other arm here was run with its instrument"))
    return SweepVerdict(settings, groups, failed)


def _settings(run: RunDir, changes: dict[str, Any]) -> GateConfig:
    values = {**run.experiment().gate.model_dump(mode="json"), **changes}
    settings = checked(GateConfig, values, "gate.")
    assert isinstance(settings, GateConfig)
    return settings


def _grouped(records: list[RunRecord]) -> list[tuple[dict[str, Any], list[RunRecord]]]:
    """Return arms whose configs differ in nothing but the arm, the gate and the replicate, in order of first sight."""
    groups: dict[str, list[RunRecord]] = {}
    keys: dict[str, dict[str, Any]] = {}
    for record in records:
        rest = setting_of(record.config)
        name = json.dumps(rest, sort_keys=True, default=str)
        groups.setdefault(name, []).append(record)
        keys[name] = rest
    if len(groups) > 1 and all(len(members) == 1 for members in groups.values()):
        return [({}, records)]  # the sweep varied the instrument: compare, so that the refusal says what differs
    varying = {k for rest in keys.values() for k in rest if len({str(r.get(k)) for r in keys.values()}) > 1}
    chosen = {k for k in varying if k.endswith(".name")} or varying
    return [({k: keys[name].get(k) for k in sorted(chosen)}, members) for name, members in groups.items()]


def _names(records: list[RunRecord]) -> list[str]:
    folders = [record.run.path.name for record in records]
    names = [
        str((record.config.get("arm") or {}).get("name", folder))
        for record, folder in zip(records, folders, strict=True)
    ]
    return distinct_names(names, [record.config for record in records], folders)


def _gate_group(setting: dict[str, Any], arms: list[Arm], settings: GateConfig, first: str | None) -> Group:
    """Pair every arm with the baseline. ``first`` is set when jobs are missing: then no other arm becomes it."""
    baseline = arms[0]
    wanted = settings.baseline or first
    if wanted is not None:
        named = [arm for arm in arms if wanted in (arm.name, arm.name.split(" [")[0], arm.run.path.name)]
        if not named and first is not None:
            return Group(setting, arms, f"{wanted} (missing)", [])
        if not named:
            raise UsageError(
                f"gate.baseline={wanted}: no such arm here; there are {', '.join(arm.name for arm in arms)}"
            )
        baseline = named[0]
    settings, note = resolve_band(settings, [baseline, *(arm for arm in arms if arm is not baseline)])
    pairs = [compare_arms(baseline, arm, settings) for arm in arms if arm is not baseline]
    for pair in pairs:
        pair.notes += [note] if note else []
    _adjust_holm(pairs)
    return Group(setting, arms, baseline.name, pairs)


def _p_value(pair: Comparison) -> float | None:
    """Return the p of a verdict; of an arm that stopped early, the p that holds whenever one stops."""
    if pair.early is not None:
        return pair.early_p
    return pair.verdict.companion_p if pair.verdict else None


def _adjust_holm(pairs: list[Comparison]) -> None:
    """Adjust the p of the arms that got a verdict by Holm: many comparisons make a false pass likelier."""
    decided = [
        (pair, p)
        for pair in pairs
        if pair.outcome in ("pass", "fail", "unresolved") and pair.verdict and (p := _p_value(pair)) is not None
    ]
    if len(decided) < 2:
        return
    least = [
        0.0 if pair.early is not None else pair.verdict.companion_least_p or 0.0 for pair, _ in decided if pair.verdict
    ]
    for (pair, _), p, reach in zip(decided, holm([p for _, p in decided]), holm(least), strict=True):
        pair.holm_p = float(p)
        if pair.outcome in ("pass", "fail") and p > 0.05:
            among = f"{pair.outcome} by itself, unresolved among {len(decided)} arms (Holm p {p:.3f}"
            short = f"; so few clusters cannot reach less than {reach:.3f}" if reach > 0.05 else ""
            pair.notes.append(f"{among}{short})")
