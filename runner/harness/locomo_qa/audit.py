"""Gold patches of dial481/locomo-audit (``errors.json``) as the project's own.

A list of ``{question_id: locomo_<conversation>_qa<index>, error_type, correct_evidence, …}``, conversations counted in
the order of the data. ``WRONG_CITATION`` fixes the evidence and leaves the answer, which was right; every other type
means that the published gold is wrong, and excludes the question.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, ValidationError

from runner.config import Strict, problems
from runner.errors import DatasetError
from runner.harness._base.gold_patches import Patch


class AuditedError(Strict):
    """One entry of the file; fields beside these are not read."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    question_id: Annotated[str, Field(pattern=r"^locomo_\d+_qa\d+$")]
    error_type: Literal[
        "WRONG_CITATION", "HALLUCINATION", "TEMPORAL_ERROR", "ATTRIBUTION_ERROR", "AMBIGUOUS", "INCOMPLETE"
    ]
    question: str
    golden_answer: str | int
    correct_evidence: list[str]


def audit_patch(where: str, entry: Mapping[str, Any], conversations: Sequence[str]) -> Patch | None:
    """Read an entry of the audit; ``None`` where it is not one.

    Parameters
    ----------
    where
        The entry, for messages.
    entry
        As it was decoded.
    conversations
        Their ids in the order of the data.

    Raises
    ------
    DatasetError
        When a field is missing or of another kind, or the conversation does not exist.
    """
    if "question_id" not in entry:
        return None
    try:
        found = AuditedError.model_validate(entry)
    except ValidationError as error:
        raise DatasetError(f"{where}: {'; '.join(problems(error, AuditedError))}") from None
    position, index = map(int, re.findall(r"\d+", found.question_id))
    if position >= len(conversations):
        raise DatasetError(f"{where}: {found.question_id} is beyond the {len(conversations)} conversations of the data")
    cited = found.error_type == "WRONG_CITATION"
    if cited and not found.correct_evidence:
        raise DatasetError(f"{where}: WRONG_CITATION without correct_evidence")
    return Patch(
        id=f"{conversations[position]}/{index}",
        action="fix" if cited else "exclude",
        evidence=found.correct_evidence if cited else None,
        reason=found.error_type,
        question=found.question,
        was=str(found.golden_answer),
    )
