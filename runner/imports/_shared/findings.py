"""Lines about what an import found: ids, missing questions, repeats, labels; one fact per line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from runner.data.result_file import ResultFile
from runner.imports import Results
from runner.imports._shared.instrument import UNNAMED, Benchmark
from runner.imports._shared.join import ImportedQuestion
from runner.record.instrument import UNKNOWN
from runner.stats.agreement import majority_label
from runner.types import ABSTAIN, CORRECT, LABELS, STATUSES, WRONG

_SHOWN: Final = 8  # words of a vocabulary


def findings(
    arm: Results, about: Benchmark, questions: Sequence[ImportedQuestion], files: Sequence[ResultFile]
) -> list[str]:
    """List what the files of one arm hold, and where it differs from what they say of themselves."""
    stated = arm.stated if len(files) == 1 else {}
    total = len(questions)
    census = ""
    if "questions" in stated:
        agrees = stated["questions"] == total
        census = ", as the file states" if agrees else f"; WARNING: the file states {stated['questions']}"
    clusters = len({item.cluster for item in questions})
    lines = [
        f"questions: {total}{census}; ids {questions[0].id} … {questions[-1].id}",
        f"clusters: {clusters}, {'every question by itself' if clusters == total else f'one a {about.cluster}'}",
        f"categories: {_categories(about, questions)}",
        *_parts(arm, files, total),
        _repeats(questions, stated),
        f"labels: {list_counts(Counter(item.said for item in arm.given))}",
        _accuracy(questions, stated),
    ]
    statuses = Counter(item.labels[-1] for item in questions if not set(item.labels) & set(LABELS))
    if statuses:
        lines.append(f"questions without a label: {_statuses(statuses)}; none of them counts as wrong")
    lost = Counter(label for item in questions for label in item.labels if label in STATUSES)
    if sum(lost.values()) > sum(statuses.values()):
        lines.append(f"answers without a label: {_statuses(lost)}")
    for what, missing in (
        ("the question's text", sum(item.question is None for item in questions)),
        ("the gold", sum(item.gold is None for item in questions)),
        ("an answer", sum(not any(item.answers) for item in questions)),
    ):
        if missing:
            lines.append(f"{what} is not told for {missing} of {total} questions")
    return lines


def list_unknown(rows: dict[str, Any], prompt: str) -> list[str]:
    """List the models that the instrument knows, and the rows that it does not know."""
    models = [f"{role} {rows[f'{role}.model']}" for role in ("reader", "judge")]
    models += [f"the reader's prompt is called {prompt}"] if prompt else []
    unknown = [name for name, value in rows.items() if value == UNKNOWN]
    return [f"models: {', '.join(models)}", f"unknown: {', '.join(unknown)}"]


def list_counts(counts: Counter[str]) -> str:
    """Words of a file with their numbers, the most frequent first."""
    shown = [f"'{word}' {n}" for word, n in counts.most_common(_SHOWN)]
    return ", ".join(shown) + (f", and {len(counts) - _SHOWN} other words" if len(counts) > _SHOWN else "")


def _statuses(counts: Counter[str]) -> str:
    return ", ".join(f"{n} {status}" for status, n in counts.most_common())


def _categories(about: Benchmark, questions: Sequence[ImportedQuestion]) -> str:
    counts = Counter(item.category for item in questions)
    if set(counts) == {UNNAMED}:
        return "none told"
    keys = sorted(counts, key=lambda key: (len(key), key))
    named = [key if about.categories.get(key, key) == key else f"{key} {about.categories[key]}" for key in keys]
    return ", ".join(f"{name} {counts[key]}" for name, key in zip(named, keys, strict=True))


def _parts(arm: Results, files: Sequence[ResultFile], total: int) -> Iterator[str]:
    """Yield what each of several files brings, and how many questions one of them lacks."""
    if len(files) < 2:
        return
    labelled = [item for item in arm.given if item.label in LABELS]
    holds = [{item.id for item in labelled if item.file == number} for number in range(len(files))]
    for file, ids in zip(files, holds, strict=True):
        yield f"{file.name}: graded answers to {len(ids)} of {total} questions"
    graded = [ids for ids in holds if ids]
    everywhere = len(set.intersection(*graded)) if graded else 0
    if everywhere == total and len(graded) > 1:
        yield f"every question is in {len(graded)} files: repeats"
    elif everywhere and everywhere < total:
        yield f"WARNING: {total - everywhere} questions are not graded in each of these files"


def _repeats(questions: Sequence[ImportedQuestion], stated: dict[str, int]) -> str:
    counts = Counter(len(item.labels) for item in questions)
    told = ", ".join(f"{repeats} for {n} questions" for repeats, n in sorted(counts.items()))
    if len(counts) == 1:
        told = f"{next(iter(counts))} for every question"
    if "repeats" in stated and set(counts) != {stated["repeats"]}:
        told += f"; WARNING: the file states {stated['repeats']}"
    disagree = sum(len({label for label in item.labels if label in LABELS}) > 1 for item in questions)
    return f"repeats: {told}" + (f"; they disagree for {disagree}" if max(counts) > 1 else "")


def _accuracy(questions: Sequence[ImportedQuestion], stated: dict[str, int]) -> str:
    """Correct by majority, and by each repeat where all questions have as many."""
    graded = [item for item in questions if set(item.labels) & set(LABELS)]
    majority = Counter(majority_label(item.labels) for item in graded)
    right = majority[CORRECT]
    told = f"correct: {right} of {len(graded)}" + (f" ({right / len(graded):.1%})" if graded else "")
    told += f", wrong {majority[WRONG]}" + (f", abstained {majority[ABSTAIN]}" if majority[ABSTAIN] else "")
    lengths = {len(item.labels) for item in questions}
    if len(lengths) == 1 and (repeats := lengths.pop()) > 1:
        right_by = [sum(item.labels[i] == CORRECT for item in questions) for i in range(repeats)]
        graded_by = [sum(item.labels[i] in LABELS for item in questions) for i in range(repeats)]
        if all(graded_by):
            mean = sum(n / of for n, of in zip(right_by, graded_by, strict=True)) / repeats
            told += f" by majority; by repeat {', '.join(map(str, right_by))}, mean {mean:.2%}"
    return told + (f"; the file states {stated['correct']}" if stated.get("correct", right) != right else "")
