"""The instrument: everything that must match for two runs to compare, each row with why it matters.

A value that is not known is ``"unknown"``, and ``"unknown"`` never matches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from runner.config import did_you_mean
from runner.errors import UsageError

UNKNOWN: Final = "unknown"
CONTENT: Final = "content:"  # before a digest of questions and gold, which says nothing of the bytes of a file

WHY: Final[Mapping[str, str]] = {
    "axis": "recall and judged accuracy are different metrics",
    "harness": "another benchmark asks other questions",
    "harness.settings": "the benchmark was set up otherwise",
    "dataset.version": "another version of the data holds other questions or other gold",
    "dataset.sha256": "the bytes of the data differ",
    "dataset.patches": "patched gold grades other answers as right",
    "slice.sha256": "other questions were asked",
    "slice.questions": "another number of questions was asked",
    "k": "recall@5 and recall@10 are different metrics",
    "reader.model": "a stronger reader moves the categories that need reasoning",
    "reader.params": "temperature, limits and seeds change answers",
    "reader.prompt": "another prompt gives other answers",
    "judge.model": "another judge moves the labels, by more than most changes to a memory",
    "judge.params": "temperature and limits change labels",
    "judge.rubric": "a lenient and a strict rubric label the same answer differently",
    "lexical": "lexical scores of answers that were simplified otherwise",
    "repeats": "a majority of three is another judge than a single label",
    "denominator": "leaving abstentions or a category out flatters an arm",
    "search_mode": "another search mode is an ablation of its own",
    "embedder": "an embedder swap moves the whole similarity scale",
    "reranker": "another reranker orders the same hits otherwise",
    "server_build": "another build is another system",
    "index_revision": "the answers came from another index",
    "crediting": "a run that credits its reads reinforces what it reads",
    "scoring": "the scoring code changed",
}

# Rows that stand in a record only where they say something: a run without lexical scores has no word about them.
OPTIONAL: Final = frozenset({"lexical"})

# Rows that describe the system under test. They follow from the arm when the arms run different systems.
SYSTEM_ROWS: Final = frozenset({"search_mode", "embedder", "reranker", "server_build", "index_revision"})

# One word for rows that a person declares together (`--declare reader=same`).
GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "reader": ("reader.model", "reader.params", "reader.prompt"),
    "judge": ("judge.model", "judge.params", "judge.rubric"),
    "dataset": ("dataset.version", "dataset.sha256", "dataset.patches"),
    "protocol": ("harness.settings", "k", "repeats", "denominator", "crediting", "scoring"),
    "system": tuple(sorted(SYSTEM_ROWS)),
}

SCORING: Final = "2"  # raise when a change of code changes a recorded metric


def row_of_model(provider: str, model: str) -> str:
    """Return the instrument's name of a reader or judge: ``"none"``, or provider and model."""
    return "none" if provider == "none" else f"{provider}:{model}"


def rows_named(words: Iterable[str]) -> list[str]:
    """Return the rows that a person means by their names, or by the name of a group of them.

    Raises
    ------
    UsageError
        For a word that is neither.
    """
    rows: list[str] = []
    for word in words:
        found = GROUPS.get(word, (word,) if word in WHY else ())
        if not found:
            known = [*GROUPS, *WHY]
            raise UsageError(
                f"'{word}' is not a row of the instrument{did_you_mean(word, known)}; there are {', '.join(known)}"
            )
        rows += found
    return list(dict.fromkeys(rows))


def incomparable(row: str, left: Any, right: Any) -> bool:
    """Return whether two values cannot be compared: one is unknown, or they are digests of two kinds."""
    if UNKNOWN in (left, right):
        return True
    return row == "dataset.sha256" and str(left).startswith(CONTENT) != str(right).startswith(CONTENT)


def mismatches(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    """Return the names of the rows that do not match, in the order of :data:`WHY`; ``unknown`` never matches."""
    names = [name for name in WHY if name in a or name in b]
    names += sorted((set(a) | set(b)) - set(WHY))
    found = []
    for name in names:
        left, right = a.get(name, UNKNOWN), b.get(name, UNKNOWN)
        if left != right or left == UNKNOWN:
            found.append(name)
    return found
