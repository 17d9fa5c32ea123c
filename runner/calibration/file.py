"""``calibration.json``: how often a judge passed answers whose truth is known, and with what instrument.

The file is untrusted data, as every record is: decoding is strict about kinds, and what is derived must follow from the
counts beside it, so that an edited or damaged file is one clear error and never a false correction.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct, field

import runner
from runner.calibration.probes import KINDS
from runner.errors import RecordError, UsageError
from runner.record import files

FORMAT: Final = 1
NAME: Final = "calibration.json"
COMPLETE: Final = "complete"
INCOMPLETE: Final = "incomplete"
UNUSABLE: Final = "unusable"  # too many probes could not be graded

# Rows of the instrument that a judge's error rates depend on: those of a run and those of its calibration must match.
ROWS: Final = (
    "harness",
    "harness.settings",
    "dataset.sha256",
    "dataset.patches",
    "judge.model",
    "judge.params",
    "judge.rubric",
    "repeats",
)
_MOST: Final = 1_000_000_000  # probes; a count above it is damage


class Repeat(Struct, kw_only=True):
    """One repeat: probes graded in it, and those passed."""

    graded: int
    passed: int


class ProbeTally(Struct, kw_only=True):
    """One kind of probe: counts, and the share passed by majority over repeats with Wilson's 95 % interval.

    ``graded`` leaves out the probes all of whose repeats failed (``errors``); ``failed_repeats`` are single ones.
    Shares are ``None`` where nothing was graded.
    """

    probes: int
    graded: int
    passed: int
    abstained: int
    errors: int
    failed_repeats: int
    rate: float | None
    low: float | None
    high: float | None
    repeats: list[Repeat]
    mean_over_repeats: float | None
    flip_rate: float | None = None


class Youden(Struct, kw_only=True):
    """Youden's J = TPR − FPR with its 95 % interval."""

    j: float
    low: float
    high: float


class Slice(Struct, kw_only=True):
    """The slice that the probes come from."""

    name: str
    sha256: str
    questions: int


class Wording(Struct, kw_only=True):
    """The wording of the probes. ``reader`` and ``template`` count them; ``refused`` are replies that did not pass."""

    by: str  # templates, reader, or recorded
    model: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    prompts: dict[str, str] = field(default_factory=dict)
    templates: str = ""
    check: str = ""
    reader: int = 0
    template: int = 0
    refused: int = 0


class Calibration(Struct, kw_only=True):
    """The content of ``calibration.json``.

    ``source`` is ``probes`` or ``recorded``; ``rows`` are those of :data:`ROWS` and of the dataset's version; ``kinds``
    maps ``right``, ``specific`` and ``vague`` to counts, ``categories`` the same by category id.
    """

    format: int
    runner: str
    state: str
    reason: str = ""
    source: str
    judge: str
    harness: str
    synthetic: bool = False
    category_names: dict[str, str] = field(default_factory=dict)
    rows: dict[str, str | int | float | bool | dict[str, Any] | list[Any] | None]
    fakes: list[str] = field(default_factory=list)
    slice: Slice | None = None
    runs: dict[str, str] = field(default_factory=dict)  # by kind, the recorded runs that the answers came from
    repeats: int | str
    seed: int | None = None
    asked: int | None = None  # probes per kind that were asked for
    eligible: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    wording: Wording
    kinds: dict[str, ProbeTally] = field(default_factory=dict)
    categories: dict[str, dict[str, ProbeTally]] = field(default_factory=dict)
    youden: dict[str, Youden] = field(default_factory=dict)
    served: list[str] = field(default_factory=list)
    usage: dict[str, files.StageUsage] = field(default_factory=dict)
    started: str = ""  # UTC
    ended: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the calibration as it stands in JSON."""
        value: dict[str, Any] = msgspec.to_builtins(self)
        return value


def read(path: Path) -> Calibration:
    """Read a calibration, from its file or the directory that holds it.

    Raises
    ------
    UsageError
        When there is none.
    RecordError
        When it is of another format, damaged, or contradicts itself.
    """
    place = path / NAME if path.is_dir() else path
    try:
        found = files.decode(place, Calibration)
    except RecordError as error:
        raise RecordError(str(error).replace("run it again", "calibrate again")) from None
    if found is None:
        raise UsageError(f"{path}: no such calibration; make one with python -m runner calibrate judge=… harness=…")
    if found.format != FORMAT:
        raise RecordError(
            f"{place}: recorded in format {found.format}, this version reads format {FORMAT}; use the version that "
            f"wrote it ({found.runner}) or calibrate again"
        )
    if found.state not in (COMPLETE, INCOMPLETE, UNUSABLE):
        raise RecordError(f"{place}: '{found.state}' is no state of a calibration; calibrate again")
    by_category = [item for kinds in found.categories.values() for item in kinds.items()]
    for name, tally in [*found.kinds.items(), *by_category]:
        wrong = _contradiction(name, tally)
        if wrong:
            raise RecordError(f"{place}: {wrong}; the file is damaged or was edited: calibrate again")
    return found


def _contradiction(name: str, tally: ProbeTally) -> str:
    """Return the contradiction in a tally; empty where there is none."""
    if name not in KINDS:
        return f"'{name}' is no kind of probe"
    if not 0 <= tally.passed <= tally.graded <= tally.probes <= _MOST:
        return f"{name}: {tally.passed} passed, {tally.graded} graded and {tally.probes} probes cannot be"
    if not 0 <= tally.abstained <= tally.graded - tally.passed or tally.errors != tally.probes - tally.graded:
        return f"{name}: {tally.abstained} abstentions and {tally.errors} errors do not go with {tally.probes} probes"
    rate = tally.passed / tally.graded if tally.graded else None
    if (rate is None) != (tally.rate is None) or (tally.rate is not None and not math.isclose(tally.rate, rate or 0.0)):
        return f"{name}: a rate of {tally.rate} does not follow from {tally.passed} of {tally.graded}"
    for label, share in (("low", tally.low), ("high", tally.high), ("mean_over_repeats", tally.mean_over_repeats)):
        if share is not None and not 0 <= share <= 1:
            return f"{name}: {label} {share} is no share"
    for repeat in tally.repeats:
        if not 0 <= repeat.passed <= repeat.graded <= tally.probes:
            return f"{name}: a repeat with {repeat.passed} of {repeat.graded} passed cannot be"
    return ""


def empty(**values: Any) -> Calibration:
    """Return a calibration that has not begun."""
    return Calibration(format=FORMAT, runner=runner.__version__, state=INCOMPLETE, **values)
