"""A person's own corpus: JSON lines of ``key``, ``text`` and, where it is known, ``time``."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Final

from runner.config import Dataset
from runner.data.source import DataFiles, locate
from runner.errors import DatasetError
from runner.harness._base.faults import advised
from runner.harness.retrieval_recall.queries import decoded, line_objects, parse_time
from runner.types import Event

_KNOWN: Final = ("key", "text", "time")


def read_corpus(path: str, sha256: str | None) -> DataFiles:
    """Find, read and verify the file of a corpus.

    Raises
    ------
    DatasetError
        When it is missing, cannot be read or does not match its pin.
    """
    try:
        return locate("", Dataset(path=path, sha256=sha256), hold=True)
    except DatasetError as error:
        message = advised(error).replace("harness.dataset.path", "harness.settings.corpus")
        raise DatasetError(message.replace("harness.dataset.sha256", "harness.settings.corpus_sha256")) from None


def memories(file: DataFiles) -> tuple[Event, ...]:
    """Return every memory of a corpus as an event, in time order, those without a time first.

    Raises
    ------
    DatasetError
        Naming the line that is not understood or whose key stands further up, or when there is none at all.
    """
    source = Path(file.path).name
    events: list[Event] = []
    lines: dict[str, int] = {}
    for number, at, row in line_objects(source, decoded(source, file.content())):
        at.record(row, _KNOWN, ("key", "text"), "a memory")
        key = at.field("key").text(at.field("key").answer(row["key"])).strip()
        if key in lines:
            raise at.fail(f"the key '{key[:60]}' stands in line {lines[key]} already")
        lines[key] = number
        when = row.get("time")
        dated = at.field("time")
        time = None if when is None else parse_time(dated, dated.text(when))
        events.append(Event(id=key, text=at.field("text").text(row["text"]), time=time, kind="note"))
    if not events:
        raise DatasetError(f'{source} holds no memory; it must hold one line per memory: {{"key": …, "text": …}}')
    return tuple(sorted(events, key=lambda event: event.time or datetime.min))
