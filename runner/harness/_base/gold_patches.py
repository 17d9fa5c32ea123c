"""Gold patches: corrections of a benchmark's labels, as data with a source.

A patch fixes the gold of a question, or excludes it from the patched denominator; nothing is dropped from a run, so
that both denominators can be reported. A file is JSON or YAML, a list of ``{id, action: fix | exclude, answer?,
evidence?, reason}`` with ids as a row has them. A benchmark may read another format as well
(:meth:`runner.harness._base.published.Published.foreign_patch`).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec.structs import replace
from pydantic import Field, ValidationError, model_validator

from runner.config import Strict, own_path, problems
from runner.data.fields import one_line
from runner.data.strict_json import parse_strictly
from runner.errors import DatasetError
from runner.plain_yaml import plain_yaml
from runner.types import GOLD_EXCLUDED, GOLD_FIXED, Question, Scenario


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


# A patch out of an entry that is in another format, by where it stands (for messages) and the entry; None: it is not.
ForeignPatch = Callable[[str, Mapping[str, Any]], Patch | None]


@dataclass(frozen=True)
class PatchReport:
    """Effect of patches on the comparable part of a benchmark, by category id.

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
        """Return the report in words, one fact per line."""
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


@dataclass(frozen=True)
class GoldPatches:
    """Every patch of a run by question id; ``sha256`` is over the bytes of the files in order, empty without any."""

    by_id: Mapping[str, Patch]
    sha256: str
    sources: tuple[str, ...]

    def applied(
        self,
        scenarios: Iterable[Scenario],
        patched: Callable[[Question], Question],
        unasked: Callable[[], Collection[str]] = tuple,
    ) -> Iterator[Scenario]:
        """Yield the scenarios with their gold as patched.

        Parameters
        ----------
        scenarios
            Those that are asked.
        patched
            What the benchmark makes of a question whose gold was fixed; it may refuse that gold.
        unasked
            Ids of questions that the data has and a sample leaves out, looked up only where a patch names none of
            those that are asked.

        Raises
        ------
        DatasetError
            When a patch was written for other data: another question or answer, evidence that does not exist, or,
            after the last scenario, a question that is not there.
        """
        if not self.by_id:
            yield from scenarios
            return
        pending = set(self.by_id)
        for scenario in scenarios:
            pending -= {question.id for question in scenario.questions}
            questions = tuple(self._patched(question, scenario, patched) for question in scenario.questions)
            yield replace(scenario, questions=questions)
        if pending and (pending := pending.difference(unasked())):
            raise DatasetError(f"a gold patch names question {sorted(pending)[0]}, which the data does not have")

    def _patched(self, question: Question, scenario: Scenario, patched: Callable[[Question], Question]) -> Question:
        patch = self.by_id.get(question.id)
        if patch is None:
            return question
        self._check_fit(patch, question, scenario)
        if patch.action == "exclude":
            return question
        gold = question.gold
        if patch.answer is not None:
            gold = replace(gold, answers=(patch.answer,))
        if patch.evidence:
            gold = replace(gold, evidence=tuple(dict.fromkeys(patch.evidence)), sessions=())
        return patched(replace(question, gold=gold))

    def _check_fit(self, patch: Patch, question: Question, scenario: Scenario) -> None:
        where = f"the gold patch of {patch.id}"
        if patch.question is not None and patch.question != question.text:
            raise DatasetError(f"{where} was written for another question; it does not belong to this dataset")
        if patch.was is not None and (patch.was,) != question.gold.answers:
            raise DatasetError(f"{where} was written for another published answer; it does not belong to this dataset")
        known = {event.id for event in scenario.events} if patch.evidence else set()
        for name in patch.evidence or ():
            if name not in known:
                raise DatasetError(f"{where} cites '{name}', which is no event of {scenario.id}")

    def flags(self, question: Question) -> tuple[str, ...]:
        """Return ``GOLD_EXCLUDED`` or ``GOLD_FIXED`` for a question that a patch touches."""
        patch = self.by_id.get(question.id)
        if patch is None:
            return ()
        return (GOLD_EXCLUDED if patch.action == "exclude" else GOLD_FIXED,)

    def report(self, questions: Iterable[tuple[str, str]], comparable: Collection[str]) -> PatchReport:
        """Count what the patches do to the comparable ones among questions, each an id and its category."""
        counted: dict[str, Counter[str]] = {name: Counter() for name in ("all", "excluded", "evidence", "answer")}
        for name, category in questions:
            if category not in comparable:
                continue
            counted["all"][category] += 1
            patch = self.by_id.get(name)
            if patch is not None:
                kind = "excluded" if patch.action == "exclude" else "evidence" if patch.answer is None else "answer"
                counted[kind][category] += 1
        return PatchReport(
            sha256=self.sha256,
            sources=self.sources,
            comparable=counted["all"],
            excluded=counted["excluded"],
            evidence_fixed=counted["evidence"],
            answer_fixed=counted["answer"],
        )


def read_patches(files: Sequence[str], foreign: ForeignPatch = lambda *_: None) -> GoldPatches:
    """Read gold patches.

    Parameters
    ----------
    files
        Paths as configured.
    foreign
        Reads an entry that is in a format of the benchmark's own.

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
            where = f"gold patch {path}, entry {number}"
            if not isinstance(entry, dict):
                raise DatasetError(f"{where}: expected a mapping, found {type(entry).__name__}")
            patch = foreign(where, entry) or _patch(where, entry)
            if patch.id in by_id:
                raise DatasetError(f"gold patch {path}: question {patch.id} is patched twice; keep one")
            by_id[patch.id] = patch
    return GoldPatches(by_id, sha.hexdigest() if files else "", tuple(Path(file).name for file in files))


def _entries(path: Path, data: bytes) -> list[Any]:
    try:
        text = data.decode("utf-8-sig")
        entries = plain_yaml(text) if path.suffix in (".yaml", ".yml") else parse_strictly(text)
    except (ValueError, RecursionError) as error:
        raise DatasetError(
            f"gold patch {path} cannot be parsed ({one_line(str(error))[:160]}); it must be JSON or YAML"
        ) from None
    if not isinstance(entries, list):
        raise DatasetError(
            f"gold patch {path} must be a list of {{id, action, reason, …}}, found {type(entries).__name__}"
        )
    return entries


def _patch(where: str, entry: Mapping[str, Any]) -> Patch:
    if "id" not in entry:
        raise DatasetError(
            f"{where}: has no 'id'; a patch has id, action and reason, and this may be one of another benchmark"
        )
    try:
        return Patch.model_validate(entry)
    except ValidationError as error:
        raise DatasetError(f"{where}: {'; '.join(problems(error, Patch))}") from None
