"""reflect's notes on disk: one Markdown file per event, front matter and body.

Format: the project's reference "KB on-disk format"; names as its LoCoMo harness writes them,
``documents/<session>-<n>-<slug>.md``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from runner.system import spoken
from runner.types import Event

FOLDER: Final = "documents"
_FENCE: Final = "---\n"
_TITLE_CHARS: Final = 70
_SLUG_CHARS: Final = 40
_NOT_SLUG: Final = re.compile(r"[^a-z0-9]+")


def slug(text: str, most: int = _SLUG_CHARS) -> str:
    """Lower case, digits and hyphens: what a file name of reflect is made of."""
    return _NOT_SLUG.sub("-", text.lower()).strip("-")[:most].strip("-")


def name_of(event: Event, number: int) -> str:
    """The file's stem, which is the note's name and the id by which recall returns it."""
    return f"{slug(event.session) or 's'}-{number:04d}-{slug(event.text) or 'note'}"


def note_of(event: Event, name: str) -> str:
    """The file of one event, whose body is the event as it is said."""
    said = spoken(event)
    matter: dict[str, Any] = {
        "name": name,
        "title": " ".join(said.split())[:_TITLE_CHARS] or name,
        "category": "conversation",
        "tags": ["conversation", *([slug(event.actor, 20)] if slug(event.actor) else [])],
    }
    if event.time is not None:
        matter["created"] = event.time.isoformat()
    if event.actor:
        matter["speaker"] = event.actor
    lines = [f"{key}: {_value(value)}\n" for key, value in matter.items()]
    return f"{_FENCE}{''.join(lines)}{_FENCE}\n{said}\n"


def body_of(note: str) -> str:
    """The body of a file that :func:`note_of` wrote; of any other, what comes after its front matter."""
    if not note.startswith(_FENCE):
        return note
    _, found, rest = note[len(_FENCE) :].partition(f"\n{_FENCE}")
    return rest.removeprefix("\n").removesuffix("\n") if found else note


def write(folder: Path, name: str, event: Event) -> None:
    """Put one note into a knowledge base."""
    (folder / FOLDER / f"{name}.md").write_bytes(note_of(event, name).encode())


def read(folder: Path, name: str) -> str | None:
    """The body of a note that is there."""
    try:
        return body_of((folder / FOLDER / f"{name}.md").read_bytes().decode())
    except (OSError, UnicodeDecodeError):
        return None


def _value(value: str | list[str]) -> str:
    # JSON is YAML. A date stays bare, as reflect's own writers have it.
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?", value):
        return value
    return json.dumps(value, ensure_ascii=False)


def title_of(item: Mapping[str, Any]) -> str:
    """Return the line that recall itself prints of a hit: its key insight, else its title."""
    return str(item.get("key_insight") or item.get("title") or "")
