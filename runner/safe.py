"""Text that is safe to show: without credentials, and without anything that a terminal would obey.

``mask`` is for every text that leaves the process (a file, a log, an error); ``printable`` for what goes to a terminal.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote, quote_plus

HIDDEN: Final = "***"
_SHORTEST = 8  # characters; a shorter value of the environment would hide common words

_PARAMETER = r"[?&#;][\w.-]*(?:key|token|secret|password|passwd|credentials?|signature|sig|auth)="
_VALUE = re.compile(
    r"""(?x)
    \b(?:sk|rk|pk)-[A-Za-z0-9_-]{16,}          # OpenAI, Anthropic and those that copy them
    |\b(?:gh[pousr]|github_pat)_[A-Za-z0-9_]{20,}
    |\bAKIA[0-9A-Z]{16}\b
    |\bAIza[0-9A-Za-z_-]{30,}
    |\bxox[abprs]-[A-Za-z0-9-]{10,}
    |\bhf_[A-Za-z0-9]{20,}
    |\bgsk_[A-Za-z0-9]{20,}
    |\bm0-[A-Za-z0-9]{20,}
    |(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}   # a JWT
    |-----BEGIN\ [A-Z ]*PRIVATE\ KEY-----[A-Za-z0-9+/=\s\\]*
    |(?i:\bbearer\s+[A-Za-z0-9._~+/-]{16,})
    """
)
# user:password in any URL, and a bare token in one of the web (git@ of ssh:// is a name and no secret)
_USER = re.compile(r"(?<=://)[^/\s:@?#\"'<>]*:[^/\s\"'<>]+@|(?:(?<=http://)|(?<=https://))[^/\s@?#\"'<>$]+@")
# A value that is only named (an interpolation) is no secret; neither is one that is hidden already.
_QUERY = re.compile(rf"(?i)({_PARAMETER})(?!\$\{{|\*\*\*)[^&#;\s\"'<>\\]+")
_URL_QUERY = re.compile(rf"(?i)://[^\s\"'<>]*?{_PARAMETER}(?!\$\{{)[^&#;\s\"'<>\\]")
_KEY = re.compile(r"(?i)(^|[._-])(api_?key|key|token|secret|password|passwd|credential|authorization)s?$")
_KEY_ALLOWED = re.compile(r"(?i)(_env$|max_tokens|tokens$)")
_VARIABLES: Final = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIALS")  # how the names of variables end

_named: set[str] = set()


def hide_value_of(variable: str) -> None:
    """Tell :func:`mask` of an environment variable that holds a credential under a name of its own."""
    _named.add(variable)


def names_secret(key: str) -> bool:
    """Return whether a key holds a credential by its name (``api_key``), not a variable's name (``api_key_env``)."""
    return bool(_KEY.search(key)) and not _KEY_ALLOWED.search(key)


def looks_secret(key: str, value: object) -> bool:
    """Return whether a value looks like a credential, by its own shape or by the name of its key."""
    if not isinstance(value, str) or not value or value.startswith("${"):
        return False
    if any(pattern.search(value) for pattern in (_VALUE, _USER, _URL_QUERY)):
        return True
    return names_secret(key) and len(value) >= _SHORTEST


def mask(text: str) -> str:
    """Return the text with everything that looks like a credential replaced.

    That is: known shapes, ``user:password@`` and ``?api-key=…`` of URLs, and the value of every environment variable
    whose name ends in KEY, TOKEN, SECRET, PASSWORD or CREDENTIALS or is named by a config (8 characters or more), as it
    is and as JSON or a URL would write it.
    """
    return _mask(text, _of_environment())


def _mask(text: str, own: tuple[str, ...]) -> str:
    if own:
        text = _any_of(own).sub(HIDDEN, text)
    text = _VALUE.sub(HIDDEN, text)
    if "://" in text:
        text = _USER.sub(f"{HIDDEN}@", text)
    return _QUERY.sub(rf"\1{HIDDEN}", text) if "=" in text else text


def masked(value: Any) -> Any:
    """Return a value of JSON with every text in it masked; unlike a masked document, it is always JSON again."""
    return _masked(value, _of_environment())


def _masked(value: Any, own: tuple[str, ...]) -> Any:
    if isinstance(value, str):
        return _mask(value, own)
    if isinstance(value, Mapping):
        return {_mask(key, own) if isinstance(key, str) else key: _masked(item, own) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(item, own) for item in value]
    return value


def secrets_in(config: Mapping[str, Any]) -> list[str]:
    """Return the dotted keys whose values look like credentials; lists, and mappings inside them, are searched too."""
    return list(dict.fromkeys(key for key, value in _leaves(config) if looks_secret(key, value)))


def printable(text: str) -> str:
    r"""Return untrusted text for a terminal: what would act is an escape (``\x1b``), line ends are kept.

    Covers control characters and with them ANSI sequences, marks that turn the reading direction, invisible characters
    and lone surrogates. Spaces of any width, and the joiners that emoji and several scripts need, stay.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in _KEPT else repr(char)[1:-1] for char in text)


# Line feed; ZWNJ and ZWJ; no-break and other spaces (Unicode category Zs), which are not "printable" to Python.
_KEPT: Final = frozenset("\n\u200c\u200d\u00a0\u1680\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B))))


def _leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _leaves(item, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item, key)
    else:
        yield key, value


def _of_environment() -> tuple[str, ...]:
    """Return the credentials of the environment as it is now, in order."""
    named = (name for name in os.environ if name in _named or name.upper().endswith(_VARIABLES))
    values = {os.environ.get(name, "").strip() for name in named}
    return tuple(sorted(value for value in values if len(value) >= _SHORTEST))


@lru_cache(maxsize=16)
def _any_of(values: tuple[str, ...]) -> re.Pattern[str]:
    """Return one pattern for every spelling of some values, the longest first: one value may begin another."""
    spelled: set[str] = set()
    for value in values:
        spelled |= {value, " ".join(value.split()), repr(value)[1:-1], quote(value, safe=""), quote_plus(value)}
        spelled |= {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    return re.compile("|".join(re.escape(item) for item in sorted(spelled, key=lambda item: (-len(item), item))))
