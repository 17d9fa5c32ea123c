"""Gold patches: corrections of a benchmark's labels, as data with a source.

A patch fixes the gold of a question, or excludes it from the patched denominator; nothing is dropped from a run, so
that both denominators can be reported. Two formats are read, JSON or YAML:

- the project's own, a list of ``{id, action: fix | exclude, answer?, evidence?, reason}``, ids as a row has them;
- that of dial481/locomo-audit (``errors.json``), a list of ``{question_id: locomo_<conversation>_qa<index>,
  error_type, correct_evidence, …}``: ``WRONG_CITATION`` fixes the evidence and leaves the answer, which was right;
  every other type means that the published gold is wrong, and excludes the question.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, ValidationError, model_validator

from runner.config import Strict, own_path, problems
from runner.data.strict_json import strictly
from runner.errors import DatasetError


class Patch(Strict):
    """One correction. ``question`` and ``was`` tie it to the data it was written for, when the format has them."""

    id: Annotated[str, Field(min_length=1)]
    action: Literal["fix", "exclude"]
    answer: str | None = None
    evidence: list[str] | None = None
    reason: Annotated[str, Field(min_length=1)]
    question: str | None = None
    was: str | None = None

    @model_validator(mode="after")
    def _complete(self) -> Patch:
        if self.action == "fix" and self.answer is None and not self.evidence:
            raise ValueError("a fix needs an answer or evidence")
        if self.answer is not None and not self.answer.strip():
            raise ValueError("the answer is empty; a question without a right answer is excluded")
        if self.action == "exclude" and (self.answer is not None or self.evidence is not None):
            raise ValueError("an exclusion takes no answer and no evidence")
        return self


class _Audited(Strict):
    """One entry of locomo-audit's errors.json."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    question_id: Annotated[str, Field(pattern=r"^locomo_\d+_qa\d+$")]
    error_type: Literal[
        "WRONG_CITATION", "HALLUCINATION", "TEMPORAL_ERROR", "ATTRIBUTION_ERROR", "AMBIGUOUS", "INCOMPLETE"
    ]
    question: str
    golden_answer: str | int
    correct_evidence: list[str]


@dataclass(frozen=True)
class Patches:
    """Every patch of a run by question id; ``sha256`` is over the bytes of the files in order, empty without any."""

    by_id: Mapping[str, Patch] = field(default_factory=dict)
    sha256: str = ""
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class PatchReport:
    """What patches do to the comparable part of a benchmark, by category id.

    ``ceiling`` is the share of comparable questions whose published gold stands: no system can honestly score above
    it against the published gold.
    """

    sha256: str
    sources: tuple[str, ...]
    comparable: Counter[str]
    excluded: Counter[str]
    evidence_fixed: Counter[str]
    answer_fixed: Counter[str]

    @property
    def corrupt(self) -> int:
        """Questions whose published gold answer is wrong: excluded, or with a fixed answer."""
        return self.excluded.total() + self.answer_fixed.total()

    @property
    def ceiling(self) -> float | None:
        total = self.comparable.total()
        return (total - self.corrupt) / total if total else None

    def lines(self) -> list[str]:
        """The report in words, one fact a line."""
        if self.ceiling is None:
            return ["gold patches: no comparable question"]
        total = self.comparable.total()
        by_category = ", ".join(f"{key}: {self.excluded[key]}" for key in sorted(self.comparable))
        return [
            f"gold patches {self.sha256[:12]} from {', '.join(self.sources)}",
            f"excluded {self.excluded.total()} of {total} comparable questions (by category {by_category})",
            f"evidence fixed {self.evidence_fixed.total()}, answer fixed {self.answer_fixed.total()}",
            f"denominators: {total} as published, {total - self.excluded.total()} patched; "
            f"ceiling against the published gold {100 * self.ceiling:.1f} %",
        ]


def reported(patches: Patches, questions: Iterable[tuple[str, str]], comparable: Collection[str]) -> PatchReport:
    """What patches do to the comparable ones among questions, each an id and its category."""
    counted: dict[str, Counter[str]] = {name: Counter() for name in ("all", "excluded", "evidence", "answer")}
    for name, category in questions:
        if category not in comparable:
            continue
        counted["all"][category] += 1
        patch = patches.by_id.get(name)
        if patch is not None:
            kind = "excluded" if patch.action == "exclude" else "evidence" if patch.answer is None else "answer"
            counted[kind][category] += 1
    return PatchReport(
        sha256=patches.sha256,
        sources=patches.sources,
        comparable=counted["all"],
        excluded=counted["excluded"],
        evidence_fixed=counted["evidence"],
        answer_fixed=counted["answer"],
    )


def read_patches(files: Sequence[str], scenarios: Sequence[str]) -> Patches:
    """Read gold patches.

    Parameters
    ----------
    files
        Paths as configured.
    scenarios
        Scenario ids in the order of the data; the audit's format counts positions.

    Raises
    ------
    DatasetError
        On a file that is missing or not understood, and on two patches of one question.
    """
    by_id: dict[str, Patch] = {}
    sha = hashlib.sha256()
    for file in files:
        path = own_path(file)
        try:
            if path.exists() and not path.is_file():
                raise OSError(None, "not a regular file")
            data = path.read_bytes()
        except OSError as error:
            raise DatasetError(
                f"cannot read the gold patch {path}: {error.strerror or error}; "
                "name an existing file (harness.patches=[FILE])"
            ) from None
        sha.update(data)
        for number, entry in enumerate(_entries(path, data)):
            patch = _understood(f"gold patch {path}, entry {number}", entry, scenarios)
            if patch.id in by_id:
                raise DatasetError(f"gold patch {path}: question {patch.id} is patched twice; keep one")
            by_id[patch.id] = patch
    return Patches(by_id, sha.hexdigest() if files else "", tuple(Path(file).name for file in files))


def _entries(path: Path, data: bytes) -> list[Any]:
    import yaml  # reads JSON too; safe_load knows no tags that execute anything

    try:
        entries = _yaml(data) if path.suffix in (".yaml", ".yml") else strictly(data.decode("utf-8-sig"))
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        line = " ".join(str(error).split())[:160]
        raise DatasetError(f"gold patch {path} cannot be parsed ({line}); it must be JSON or YAML") from None
    if not isinstance(entries, list):
        raise DatasetError(
            f"gold patch {path} must be a list of {{id, action, reason, …}}, found {type(entries).__name__}"
        )
    return entries


def _yaml(data: bytes) -> Any:
    """A YAML document without aliases, which can make little into much, and without a field that stands twice."""
    import yaml

    text = data.decode("utf-8-sig")
    for event in yaml.parse(text, yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent):
            raise ValueError(f"line {event.start_mark.line + 1} has an alias; write it out")
    tree = yaml.compose(text, yaml.SafeLoader)
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, yaml.MappingNode):
            names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            if len(set(names)) < len(names):
                raise ValueError(f"line {node.start_mark.line + 1} has a field twice in one object")
            nodes += [part for pair in node.value for part in pair]
        elif isinstance(node, yaml.SequenceNode):
            nodes += node.value
    return yaml.safe_load(text)


def _understood(where: str, entry: object, scenarios: Sequence[str]) -> Patch:
    if not isinstance(entry, dict):
        raise DatasetError(f"{where}: expected a mapping, found {type(entry).__name__}")
    try:
        if "question_id" not in entry:
            return Patch.model_validate(entry)
        audited = _Audited.model_validate(entry)
    except ValidationError as error:
        model = _Audited if "question_id" in entry else Patch
        raise DatasetError(f"{where}: {'; '.join(problems(error, model))}") from None
    numbers = re.findall(r"\d+", audited.question_id)
    position, index = int(numbers[0]), int(numbers[1])
    if not scenarios:
        raise DatasetError(f"{where}: {audited.question_id} is one of LoCoMo; take the patch to harness=locomo_qa")
    if position >= len(scenarios):
        raise DatasetError(f"{where}: {audited.question_id} is beyond the {len(scenarios)} conversations of the data")
    cited = audited.error_type == "WRONG_CITATION"
    if cited and not audited.correct_evidence:
        raise DatasetError(f"{where}: WRONG_CITATION without correct_evidence")
    return Patch(
        id=f"{scenarios[position]}/{index}",
        action="fix" if cited else "exclude",
        evidence=audited.correct_evidence if cited else None,
        reason=audited.error_type,
        question=audited.question,
        was=str(audited.golden_answer),
    )
