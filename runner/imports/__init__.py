"""Results of other harnesses as run directories: the contract of a format, and the look-up by name.

To add a format: ``runner/imports/NAME.py`` with a class that subclasses :class:`Format` and is bound to ``FORMAT``, and
a section of ``docs/imports.md``. Nothing else: the module is imported on demand from the validated name. What
several formats share is in ``_shared/``.

A format reads files into :class:`Given` objects. It never grades, and leaves out what the files do not tell. The
rest is the same for every format: joining by id, duplicates, missing questions, gold patches, and the instrument, in
which everything that no file proves is ``unknown``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

from msgspec import Struct

from runner.config import Strict, checked
from runner.data.result_file import ResultFile
from runner.lookup import Registry
from runner.types import Gold


class Given(Struct, kw_only=True):
    """A graded answer as a file has it.

    Attributes
    ----------
    id
        Of the question. Those of a benchmark that has a harness here are the harness's own, so that an import pairs
        with a run.
    label
        One of ``types.LABELS``, or the status that takes its place: ``judge_error`` where the label is missing,
        ``judge_unparseable`` where it is no word that is known, ``reader_error`` where there is no answer to grade.
    said
        The label in the file's own words, for the vocabulary that an import prints.
    repeat
        What tells this answer from another one to the same question in the same file: a number, or empty.
    file
        Position of the file among those given.
    cluster
        What moves together; empty where every question stands by itself.
    question, gold
        ``None`` where the file does not tell.
    """

    id: str
    label: str
    said: str
    repeat: str = ""
    file: int = 0
    answer: str = ""
    reason: str = ""
    cluster: str = ""
    category: str = ""
    question: str | None = None
    gold: Gold | None = None


@dataclass
class Results:
    """An arm as its files have it.

    Attributes
    ----------
    name
        Of the arm, where a file holds several; else empty, and the file's name is taken.
    harness
        Name of the benchmark, where the format tells it; one of ``runner.harness`` gives its categories.
    reader, judge
        Models as the files name them, without the name of a service in front; empty where they do not.
    scorer
        What graded where no model did, by a name that tells its rule.
    prompt
        The reader's prompt by the name that the files give it. A name is no text: the instrument keeps it unknown.
    stated
        What a file says of itself, to be held against its rows: ``questions``, ``correct``, ``repeats``.
    cluster
        What one cluster is, in a word, where no harness says it.
    lines
        Facts that the format found about this arm, one per line.
    """

    given: list[Given]
    name: str = ""
    harness: str = ""
    reader: str = ""
    judge: str = ""
    prompt: str = ""
    scorer: str = ""
    fakes: list[str] = field(default_factory=list)
    stated: dict[str, int] = field(default_factory=dict)
    cluster: str = "question"
    lines: list[str] = field(default_factory=list)


class NoSettings(Strict):
    """A format without flags of its own."""


class Format:
    """A layout of result files.

    ``Settings`` are its own flags: a field ``map`` is ``--map VALUE`` on the command line.
    """

    name: ClassVar[str]
    Settings: ClassVar[type[Strict]] = NoSettings

    def __init__(self, settings: dict[str, str]) -> None:
        self.settings = checked(self.Settings, settings, "--")

    def read(self, files: Sequence[ResultFile]) -> list[Results]:
        """Read the arms that the files hold, usually one; several files are parts or repeats of it.

        Raises
        ------
        DatasetError
            When a file cannot be read or is not of this layout, naming the file and the place in it.
        """
        raise NotImplementedError


_REGISTRY: Final = Registry(__name__, Format, "FORMAT", "import")
names = _REGISTRY.names


def find(name: str) -> type[Format]:
    """Return the format of that name; ``locomo-audit`` and ``locomo_audit`` are one.

    Raises
    ------
    ConfigError
        When there is no such format; the message lists those that exist.
    """
    return _REGISTRY.find(name.replace("-", "_"))
