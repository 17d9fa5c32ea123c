"""Every exception that the project raises.

::

    RunnerError                    exit 1: a run failed or is incomplete
    ├── UsageError                 exit 2: the command line or a file named on it
    │   ├── ConfigError            a composed config, every problem at once
    │   ├── DatasetError           missing, truncated, altered or not understood
    │   └── MissingExtra           an optional dependency that the chosen arm needs
    ├── Refused                    exit 5: not comparable, vacuous, or a fake provider
    ├── RecordError                a run directory that cannot be read or written
    ├── Stopped                    interrupted, out of budget, no progress: resumable
    │   └── Decided                a watched arm of a sweep that needs no more questions: not a failure
    ├── SystemFault                a memory system failed; becomes the status of a row
    │   ├── IngestError            a write did not take
    │   ├── NotSettled             what was written could not be found in time
    │   └── SearchError            a search failed
    └── ModelFault                 a model call failed; becomes the status of a row
        └── EndpointUnusable       it never can succeed (no key, wrong key, unknown model, nobody listens): ends the run

A message is one line that says what happened and what to do next, and holds no secret.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from runner.types import Usage


class RunnerError(Exception):
    """Base of every error meant for a user: one line, an exit code, no traceback."""

    exit_code: int = 1


class UsageError(RunnerError):
    exit_code = 2


class ConfigError(UsageError):
    """All problems of a config, each a line that names its key."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class Remedy(StrEnum):
    """The kind of remedy for a file. Its words depend on the reader: a benchmark, or an import."""

    AGAIN = "again"  # damaged on its way: get it again
    MENDED = "mended"  # its writer made JSON that has no one meaning
    OTHER = "other"  # empty: there is another copy
    FOREIGN = "foreign"  # sound, but not the file that is wanted
    READABLE = "readable"  # the system does not let it be read
    STATED = "stated"  # the message itself says what to do


class DatasetError(UsageError):
    """Data that is missing, truncated, altered or not understood.

    The caller that knows the reader puts a name before the message and the words of ``remedy`` behind it, once
    (:func:`runner.harness._base.faults.faults_of`, :func:`runner.imports._shared.prepare.prepare_arms`).
    """

    def __init__(self, message: str, remedy: Remedy = Remedy.STATED) -> None:
        super().__init__(message)
        self.remedy = remedy


class MissingExtra(UsageError):
    """An optional dependency is absent.

    Parameters
    ----------
    what
        What needs it, as the user wrote it ("arm 'dense'").
    extra
        The extra of this distribution that brings it.
    """

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs the extra '{extra}': pip install 'agent-memory-runner[{extra}]'")
        self.what, self.extra = what, extra


class Refused(RunnerError):
    exit_code = 5


class RecordError(RunnerError):
    pass


class Stopped(RunnerError):
    pass


class Decided(Stopped):
    """A watched arm is decided against the baseline, and stops.

    Attributes
    ----------
    numbers
        What was seen then, as JSON has it (:class:`runner.stats.sequential.Crossing`).
    """

    def __init__(self, message: str, numbers: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.numbers = dict(numbers)


class SystemFault(RunnerError):
    """A memory system failed. ``status`` is what the affected rows carry."""

    status: ClassVar[str] = "search_error"


class IngestError(SystemFault):
    status = "ingest_error"


class NotSettled(SystemFault):
    status = "not_settled"


class SearchError(SystemFault):
    status = "search_error"


class ModelFault(RunnerError):
    """A model call failed after the HTTP policy was exhausted, or its reply cannot be used.

    Attributes
    ----------
    usage
        What the reply cost where one was paid for (an empty text, a malformed body that tells its tokens), else
        ``None``.
    """

    def __init__(self, message: str, *, usage: Usage | None = None) -> None:
        super().__init__(message)
        self.usage = usage


class EndpointUnusable(ModelFault):
    """No call to this endpoint can succeed until a person changes something."""
