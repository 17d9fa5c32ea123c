"""Lay gold patches over imported questions, and compare them with the dataset's own file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from runner import harness as harnesses
from runner.config import HarnessConfig, SliceConfig, conf_dir, own_path
from runner.errors import DatasetError, UsageError
from runner.harness._base.faults import faults_of
from runner.harness._base.gold_patches import ForeignPatch, Patch, read_patches
from runner.harness._base.published import Published
from runner.imports._shared.instrument import Benchmark
from runner.imports._shared.join import ImportedQuestion
from runner.record.instrument import UNKNOWN
from runner.types import GOLD_EXCLUDED, GOLD_FIXED, Gold
from runner.types import Question as Asked


def apply_patches(
    files: Sequence[str], about: Benchmark, questions: Sequence[ImportedQuestion]
) -> tuple[dict[str, str], str, list[str]]:
    """Lay gold patches over imported questions, which are not graded again.

    Returns
    -------
    tuple
        The flag of each patched question by its id, the row ``dataset.patches``, and what to say.

    Raises
    ------
    DatasetError
        When a patch cannot be read, was written for other data, or gives an answer that nobody graded against.
    """
    with faults_of(about.name):
        patches = read_patches(files, _foreign_patches(about.name))
    by_id = {item.id: item for item in questions}
    flags: dict[str, str] = {}
    for key, patch in patches.by_id.items():
        if key in by_id:
            flags[key] = _flag(patch, by_id[key])
    if patches.by_id and not flags:
        raise DatasetError(f"--patches: none of the {len(patches.by_id)} patches names a question that was imported")
    report = patches.report(((item.id, item.category) for item in questions), about.comparable)
    beyond = len(patches.by_id) - len(flags)
    lines = [*report.lines(), *([f"{beyond} patches name questions that were not imported"] if beyond else [])]
    return flags, patches.sha256, lines


def _foreign_patches(name: str) -> ForeignPatch:
    """Return the reader of another format of gold patches that a benchmark has, counting its published scenarios."""
    kind = harnesses.find(name) if name in harnesses.names() else None
    if kind is None or not issubclass(kind, Published):
        return lambda *_: None
    return lambda where, entry: kind.foreign_patch(where, entry, kind.published_ids)


def _flag(patch: Patch, item: ImportedQuestion) -> str:
    where = f"the gold patch of {patch.id}"
    answers = item.gold.answers if item.gold is not None else ()
    if patch.question is not None and item.question is not None and patch.question != item.question:
        raise DatasetError(f"{where} was written for another question; it does not belong to these results")
    if patch.action == "fix" and patch.answer is not None:
        if answers != (patch.answer,):
            raise DatasetError(
                f"{where} fixes the answer, and this answer was graded against another gold; an import is not graded "
                f"again: exclude the question instead (action: exclude)"
            )
        return GOLD_FIXED
    if patch.was is not None and answers and answers != (patch.was,):
        raise DatasetError(f"{where} was written for another published answer; it does not belong to these results")
    return GOLD_EXCLUDED if patch.action == "exclude" else GOLD_FIXED


def compare_dataset(
    path: str, about: Benchmark, questions: Sequence[ImportedQuestion]
) -> tuple[dict[str, Any], list[str]]:
    """Hold every question, gold and category against the dataset's own file, and fill in what the results leave out.

    Returns
    -------
    tuple
        The rows ``dataset.version`` and ``dataset.sha256`` as a run of our own on that file records them, and what to
        say.

    Raises
    ------
    UsageError
        When the benchmark has no harness here.
    DatasetError
        When the file cannot be read, or a question differs.
    """
    shipped = conf_dir() / "harness" / f"{about.name}.yaml"
    if about.name not in harnesses.names() or not shipped.is_file():
        raise UsageError(f"--dataset: there is no harness '{about.name}' to read it; leave --dataset out")
    values = yaml.safe_load(shipped.read_text(encoding="utf-8"))
    pin = dict(values.get("dataset") or {})
    dataset = {**pin, "path": str(own_path(path)), "sha256": None}
    built = harnesses.build(HarnessConfig.model_validate({**values, "dataset": dataset}))
    known = {question.id: question for scenario in built.load(SliceConfig()) for question in scenario.questions}
    for item in questions:
        _same(item, known)
    info = built.dataset()
    pinned = info.sha256 == pin.get("sha256")
    rows = {
        "dataset.sha256": info.sha256 + ("" if pinned else " (unpinned)"),
        "dataset.version": (pin.get("version") if pinned else None) or UNKNOWN,
    }
    return rows, [f"dataset {Path(path).name}: questions, gold and categories agree, sha256 {info.sha256[:12]}"]


def _same(item: ImportedQuestion, known: Mapping[str, Asked]) -> None:
    there = known.get(item.id)
    if there is None:
        raise DatasetError(f"--dataset: it has no question {item.id}; these are results of other data")
    if item.question is None:
        item.question = there.text
    if item.gold is None:
        item.gold = Gold(answers=there.gold.answers, abstain=there.gold.abstain)
    for what, ours, theirs in (
        ("question", item.question, there.text),
        ("gold", (item.gold.answers, item.gold.abstain), (there.gold.answers, there.gold.abstain)),
        ("category", item.category, there.category),
    ):
        if ours != theirs:
            raise DatasetError(
                f"--dataset: {item.id} has another {what} there ({theirs!r:.80} against {ours!r:.80} in the results); "
                f"these are results of other data"
            )
