"""Signatures that tell whether a recorded config is still the one that this person's runner wrote.

A resume runs what a record says: a model command, or an endpoint to which a key is sent. A record that came from
elsewhere, or was edited, may say anything. So every run is sealed with a key of one's own, which lies in the user's
cache folder and in no run directory; :func:`is_sealed` tells whether the seal is still the right one.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path

NAME = "seal"


def _key(folder: Path) -> bytes | None:
    """Return the key of this person, made on first use; ``None`` where the cache folder cannot be used."""
    path = folder / "seal.key"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return path.read_bytes() or None
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(32))
        return path.read_bytes()
    except OSError:
        return None


def seal_of(text: bytes, cache: Path) -> str | None:
    """Return the seal of a config as it lies on disk; ``None`` where there is no key."""
    key = _key(cache)
    return None if key is None else hmac.new(key, text, hashlib.sha256).hexdigest()


def write_seal(folder: Path, text: bytes, cache: Path) -> None:
    """Write the seal of a text into the folder beside it.

    Raises
    ------
    OSError
        When the folder cannot be written.
    """
    (folder / NAME).write_text(seal_of(text, cache) or "", encoding="utf-8")


def is_sealed(folder: Path, text: bytes, cache: Path) -> bool:
    """Return whether the seal in a folder is that of this text."""
    try:
        return _is_seal_of(text, (folder / NAME).read_text(encoding="utf-8", errors="replace"), cache)
    except OSError:
        return False


def _is_seal_of(text: bytes, seal: str | None, cache: Path) -> bool:
    """Return whether the seal is that of this text, made with this person's key."""
    expected = seal_of(text, cache)
    return seal is not None and expected is not None and hmac.compare_digest(seal, expected)
