"""The instrument of an imported arm: what its files prove, and ``unknown`` for everything else."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

import runner
from runner import harness as harnesses
from runner.config import HarnessConfig
from runner.errors import ConfigError, DatasetError
from runner.imports import Results
from runner.imports._shared.join import ImportedQuestion
from runner.record import instrument as instruments
from runner.record.files import CensusCounts, HarnessFacts, Instrument
from runner.record.id_set import IdSet
from runner.record.rundir import FORMAT
from runner.score.label_metrics import ACCURACY

IMPORTED: Final = "imported"  # a system, a provider, and the name of a benchmark that no format tells
_TOLD: Final = ("name", "synthetic", "cluster", "categories", "comparable", "headline")  # of a harness, by results
UNNAMED: Final = "all"  # the category of questions without one


@dataclass(frozen=True)
class Benchmark:
    """A benchmark as an import knows it: categories by id, which of them the headline counts, what a cluster is."""

    name: str
    categories: dict[str, str]
    comparable: list[str]
    cluster: str
    synthetic: bool = False


def describe_benchmark(name: str, cluster: str, questions: Sequence[ImportedQuestion]) -> Benchmark:
    """Return the benchmark of that name; the categories of ``questions`` become its ids.

    A harness that exists here says which categories there are and which are comparable. Without one, the categories
    are those of the files, and all of them count.

    Raises
    ------
    DatasetError
        When a question is of a category that the harness does not have.
    """
    if name not in harnesses.names():
        for item in questions:
            item.category = item.category or UNNAMED
        seen = sorted({item.category for item in questions})
        return Benchmark(name, {key: key for key in seen}, seen, cluster)
    built = harnesses.build(HarnessConfig(name=name))
    told = [item for item in questions if item.category]
    for item in questions:
        item.category = item.category or UNNAMED
    for item in told:
        try:
            item.category = built.category(item.category)
        except ConfigError:
            there = ", ".join(key if key == label else f"{key} {label}" for key, label in built.categories.items())
            raise DatasetError(
                f"the question {item.id} is of category '{item.category}', and {name} has {there}; if these are other "
                f"questions, import them with --harness imported"
            ) from None
    unnamed = {} if len(told) == len(questions) else {UNNAMED: UNNAMED}  # result files often leave the category out
    categories = {**built.categories, **unnamed}
    return Benchmark(name, categories, sorted({*built.comparable, *unnamed}), built.cluster, built.synthetic)


def instrument(
    about: Benchmark, arm: Results, questions: Sequence[ImportedQuestion], known: dict[str, Any]
) -> Instrument:
    """Return the instrument of an imported arm.

    Parameters
    ----------
    about
        Its benchmark.
    arm
        For the models that its files name. A run of our own names a model as its endpoint does, behind the protocol it
        speaks (``openai:gpt-4.1-mini``); so does an import, and the two match where both name the same model.
    questions
        All of them.
    known
        Rows that something beside the files proves: patches that were given, a dataset that was compared.
    """
    ids = IdSet()
    ids.add(item.id.encode() for item in questions)
    repeats = {len(item.labels) for item in questions}
    always = [row for row in instruments.WHY if row not in instruments.OPTIONAL]
    rows: dict[str, Any] = dict.fromkeys(always, instruments.UNKNOWN)
    rows |= {
        "axis": "accuracy",
        "harness": about.name,
        "slice.sha256": ids.hexdigest(),
        "slice.questions": len(questions),
        "repeats": repeats.pop() if len(repeats) == 1 else instruments.UNKNOWN,
        "denominator": (
            f"correct / (correct + wrong + abstained) over categories {','.join(about.comparable)}; errors excluded"
        ),
        "scoring": instruments.SCORING,
        "dataset.sha256": content_of(questions) or instruments.UNKNOWN,
    }
    for role, model in (("reader", arm.reader), ("judge", arm.judge)):
        if model:
            rows[f"{role}.model"] = instruments.row_of_model("openai", model)
    if arm.scorer and not arm.judge:
        rows["judge.model"] = f"scorer:{arm.scorer}"
    rows |= known
    return Instrument(
        format=FORMAT,
        runner=runner.__version__,
        rows=rows,
        fakes=arm.fakes,
        harness=HarnessFacts(
            name=about.name,
            synthetic=about.synthetic,
            cluster=about.cluster,
            categories=about.categories,
            comparable=about.comparable,
            headline=ACCURACY,
        ),
        census=CensusCounts(
            questions=len(questions),
            scenarios=len({item.cluster for item in questions}),
            clusters=len({item.cluster for item in questions}),
            by_category=dict(Counter(item.category for item in questions)),
        ),
    )


def written(instrument: Instrument) -> dict[str, Any]:
    """Return what ``instrument.json`` of an imported arm holds: nothing that no result file tells."""
    plain: dict[str, Any] = msgspec.to_builtins(instrument)
    del plain["conformance"]
    return {**plain, "harness": {name: plain["harness"][name] for name in _TOLD}}


def content_of(questions: Sequence[ImportedQuestion]) -> str | None:
    """Digest of what was asked and what was right, whatever the order; ``None`` where a file does not tell all of it.

    Sha256 over one line of JSON a question, ``[id, question, gold answers, abstain]``, sorted by id. Two imports of the
    same questions agree in it; with the digest of a dataset's file it cannot be compared.
    """
    sha = hashlib.sha256()
    for item in sorted(questions, key=lambda item: item.id):
        if item.question is None or item.gold is None:
            return None
        value = [item.id, item.question, list(item.gold.answers), item.gold.abstain]
        sha.update(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
    return instruments.CONTENT + sha.hexdigest()
