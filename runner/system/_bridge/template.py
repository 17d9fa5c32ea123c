"""Templates in an arm's YAML: what is sent to a system, with placeholders for what only a run knows.

A text that is one placeholder and nothing else (``"{k}"``) becomes the value itself: a number, a list, an object.
Inside a longer text a placeholder becomes text. ``{{ns}}`` is written for a literal ``{ns}``; braces around anything
else stay as they are. A key whose placeholder has no value (no bound on ``k``, an event without a time) is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC
from typing import Any, Final
from urllib.parse import quote

from msgspec import to_builtins

from runner.config import did_you_mean
from runner.system import spoken
from runner.types import Event, Query

_PLACEHOLDER: Final = re.compile(r"\{\{([a-z_][a-z0-9_.-]*)\}\}|\{([a-z_][a-z0-9_.-]*)\}", re.IGNORECASE)

EVENT: Final = (
    *("event.id", "event.text", "event.spoken", "event.time", "event.unix", "event.actor", "event.kind"),
    *("event.session", "event.project", "event.title", "event.checkpoint"),
)
QUERY: Final = ("text", "now", "k", "max_chars", "max_tokens", "project", "agent", "mode")

# A template: its key below arm.settings, its value, and the placeholders that it may have.
TemplateField = tuple[str, Any, Sequence[str]]

_ABSENT: Final = object()


def placeholders_in(value: Any) -> list[str]:
    """Every placeholder of a template, in order, each once."""
    found: dict[str, None] = {}
    for text in _texts(value):
        found |= dict.fromkeys(match[2] for match in _PLACEHOLDER.finditer(text) if match[2])
    return list(found)


def unknown_placeholders(value: Any, known: Iterable[str], key: str) -> list[str]:
    """Return a line for every placeholder that will have no value there, by the key of the template."""
    names = [*known]
    return [
        f"{key}: there is no {{{name}}} here{did_you_mean(name, names)}; there are "
        f"{', '.join('{' + item + '}' for item in names)} (a literal brace is doubled)"
        for name in placeholders_in(value)
        if name not in names
    ]


def fill(value: Any, values: Mapping[str, Any]) -> Any:
    """The template with its placeholders filled; ``None`` when it was one placeholder without a value."""
    found = _filled(value, values)
    return None if found is _ABSENT else found


def fill_text(template: str, values: Mapping[str, Any], escape: Callable[[str], str] = str) -> str:
    """A text with its placeholders filled by text."""

    def replacement(match: re.Match[str]) -> str:
        if match[1]:
            return "{" + match[1] + "}"
        return escape(_text(values[match[2]])) if match[2] in values else match[0]

    return _PLACEHOLDER.sub(replacement, template)


def url_part(text: str) -> str:
    """A value as a part of a URL, nothing in it that a URL reads."""
    return quote(text, safe="", errors="replace")


def event_values(event: Event) -> dict[str, Any]:
    """Return the values of an event's placeholders."""
    return {
        "event.id": event.id,
        "event.text": event.text,
        "event.spoken": spoken(event),
        "event.time": event.time.isoformat() if event.time else None,
        "event.unix": int(event.time.replace(tzinfo=UTC).timestamp()) if event.time else None,
        "event.actor": event.actor,
        "event.kind": event.kind,
        "event.session": event.session,
        "event.project": event.project,
        "event.title": event.title,
        "event.checkpoint": to_builtins(event.checkpoint) if event.checkpoint else None,
    }


def query_values(query: Query) -> dict[str, Any]:
    """Return the values of a question's placeholders. Its evidence is not among them."""
    return {
        "text": query.text,
        "now": query.now.isoformat() if query.now else None,
        "k": query.k,
        "max_chars": query.max_chars,
        "max_tokens": query.max_tokens,
        "project": query.project,
        "agent": query.agent,
        "mode": query.mode,
    }


def _filled(value: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(value, str):
        whole = _PLACEHOLDER.fullmatch(value)
        if whole and whole[2] and whole[2] in values:
            item = values[whole[2]]
            return _ABSENT if item is None else item
        return fill_text(value, values)
    if isinstance(value, Mapping):
        filled = {key: _filled(item, values) for key, item in value.items()}
        return {key: item for key, item in filled.items() if item is not _ABSENT}
    if isinstance(value, list | tuple):
        return [item for item in (_filled(item, values) for item in value) if item is not _ABSENT]
    return value


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
