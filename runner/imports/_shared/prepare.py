"""Make result files into arms that are ready to be written. Nothing is written here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from runner.config import load
from runner.data.fields import slug
from runner.data.result_file import ResultFile, open_result_file
from runner.errors import DatasetError, Remedy, UsageError
from runner.experiment.grade import conclude
from runner.imports import Format, Results
from runner.imports._shared.findings import findings, list_counts, list_unknown
from runner.imports._shared.gold import apply_patches, compare_dataset
from runner.imports._shared.instrument import IMPORTED, Benchmark, describe_benchmark, instrument
from runner.imports._shared.join import ImportedQuestion, join_answers
from runner.record.files import Instrument
from runner.types import JUDGE_UNPARSEABLE, LABELS, Gold, Label, Row, Texts

_ADVICE: Final = {
    Remedy.AGAIN: "; export it again",
    Remedy.MENDED: "; export it again, mended",
    Remedy.OTHER: "; nothing to import",
    Remedy.FOREIGN: "; is this the right format?",
    Remedy.READABLE: "; make it readable",
    Remedy.STATED: "",
}


@dataclass(frozen=True)
class ImportRequest:
    """The options of an import that every format has.

    Attributes
    ----------
    name
        Of the arm; the first file's name without its suffix when ``None``.
    harness
        Of the benchmark, in place of the one that the format tells.
    expect
        How many questions an arm must hold.
    patches
        Gold patches, each a file.
    dataset
        The dataset's own file, to hold questions and gold against.
    """

    name: str | None = None
    harness: str | None = None
    expect: int | None = None
    patches: Sequence[str] = ()
    dataset: str | None = None


@dataclass(frozen=True)
class PreparedArm:
    """One arm, ready to be written; ``lines`` say what was found."""

    name: str
    config: dict[str, Any]
    instrument: Instrument
    rows: list[Row]
    texts: list[Texts]
    source: dict[str, Any]
    lines: list[str]


def prepare_arms(form: Format, words: Sequence[str], wanted: ImportRequest) -> list[PreparedArm]:
    """Read result files into arms.

    Raises
    ------
    UsageError
        When a file cannot be read or is not what it should be, or holds another number of questions than expected.
    """
    files = [open_result_file(word) for word in words]
    seen: dict[str, str] = {}
    for file in files:
        if file.sha256 in seen:
            raise UsageError(f"{file.name} and {seen[file.sha256]} are the same bytes; name every file once")
        seen[file.sha256] = file.name
    with _advice():
        found = form.read(files)
    if not any(arm.given for arm in found):
        raise DatasetError(f"{', '.join(file.name for file in files)}: no question in it; nothing to import")
    stem = wanted.name or slug(files[0].path.stem)
    if len(found) == 1:
        return [_arm(form, found[0], files, wanted, stem)]
    names = [slug(f"{stem}-{arm.name}") for arm in found]
    names = [name if names.count(name) == 1 else f"{name[:76]}-{i}" for i, name in enumerate(names)]
    return [_arm(form, arm, files, wanted, name) for arm, name in zip(found, names, strict=True)]


@contextmanager
def _advice() -> Iterator[None]:
    """Say behind a fault of a file what to type next."""
    try:
        yield
    except DatasetError as error:
        raise DatasetError(f"{error}{_ADVICE[error.remedy]}") from None


def _arm(form: Format, arm: Results, files: Sequence[ResultFile], wanted: ImportRequest, name: str) -> PreparedArm:
    questions = join_answers(arm.given, files)
    _require_labels(arm, questions)
    about = describe_benchmark(wanted.harness or arm.harness or IMPORTED, arm.cluster, questions)
    if wanted.expect is not None and wanted.expect != len(questions):
        raise UsageError(
            f"{name}: {len(questions)} questions, and --expect says {wanted.expect}; find those that are missing, or "
            f"leave --expect out"
        )
    proven: dict[str, Any] = {}
    beside: list[str] = []
    if wanted.dataset is not None:
        proven, beside = compare_dataset(wanted.dataset, about, questions)
    flags: dict[str, str] = {}
    if wanted.patches:
        flags, proven["dataset.patches"], told = apply_patches(wanted.patches, about, questions)
        beside += told
    recorded = instrument(about, arm, questions, proven)
    return PreparedArm(
        name=name,
        config=_config(name, about, arm, max(len(item.labels) for item in questions)),
        instrument=recorded,
        rows=[_row(item, flags.get(item.id)) for item in questions],
        texts=[_texts(item) for item in questions],
        source={
            "format": form.name,
            "files": [{"name": file.name, "sha256": file.sha256, "bytes": file.size} for file in files],
        },
        lines=[
            *(f"{form.name}: {file.name}, {file.size:,} bytes, sha256 {file.sha256[:12]}" for file in files),
            *findings(arm, about, questions, files),
            *arm.lines,
            *beside,
            *list_unknown(recorded.rows, arm.prompt),
        ],
    )


def _require_labels(arm: Results, questions: Sequence[ImportedQuestion]) -> None:
    """Refuse an arm in which no label is one: the wrong column, or another format.

    Raises
    ------
    DatasetError
        With the words that stand there.
    """
    labels = {label for item in questions for label in item.labels}
    if JUDGE_UNPARSEABLE in labels and not labels & set(LABELS):
        said = list_counts(Counter(item.said for item in arm.given))
        raise DatasetError(f"no label is understood, the files say: {said}; is this the right format, or column?")


def _row(item: ImportedQuestion, flag: str | None) -> Row:
    pairs = zip(item.labels, item.reasons, strict=True)
    conclusion = conclude([Label(value=value, reason=reason) for value, reason in pairs])
    return Row(
        id=item.id,
        scenario=item.cluster,
        cluster=item.cluster,
        category=item.category,
        status=conclusion.status,
        error=conclusion.error[:500],
        label=conclusion.label,
        labels=conclusion.labels,
        flags=(flag,) if flag else (),
    )


def _texts(item: ImportedQuestion) -> Texts:
    return Texts(
        id=item.id,
        question=item.question or "",
        gold=item.gold or Gold(),
        answers=tuple(item.answers),
        reasons=tuple(item.reasons),
    )


def _config(name: str, about: Benchmark, arm: Results, repeats: int) -> dict[str, Any]:
    """Return a config as a run records it, every key with its value.

    Raises
    ------
    ConfigError
        When a name is none that a config may hold, or looks like a credential.
    """

    def model(told: str) -> dict[str, Any]:
        return {"name": slug(told) if told else IMPORTED, "provider": IMPORTED, "model": told, "api_key_env": None}

    values = {
        "harness": {"name": about.name},
        "arm": {"name": name, "system": IMPORTED, "recall": {"limit": None}, "settings": {IMPORTED: name}},
        "reader": {**model(arm.reader), "prompt": arm.prompt},
        "judge": model(arm.judge),
        "run": {"repeats": min(repeats, 99)},
    }
    return load(values).model_dump(mode="json")
