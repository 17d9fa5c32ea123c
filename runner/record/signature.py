"""Signatures that tell whether a recorded config is still the one that this person's runner wrote.

A resume runs what a record says: a model command, or an endpoint to which a key is sent. A record that came from
elsewhere, or was edited, may say anything. So every run is sealed with a key of one's own, which lies in the user's
cache folder and in no run directory; :func:`intact` tells whether the seal still holds.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path

NAME = "seal"


def _key(folder: Path) -> bytes | None:
    """The key of this person, made on first use; ``None`` where the cache folder cannot be used."""
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


def made(text: bytes, cache: Path) -> str | None:
    """The seal of a config as it lies on disk."""
    key = _key(cache)
    return None if key is None else hmac.new(key, text, hashlib.sha256).hexdigest()


def put(folder: Path, text: bytes, cache: Path) -> None:
    """Lay the seal of a text beside it.

    Raises
    ------
    OSError
        When the folder cannot be written.
    """
    (folder / NAME).write_text(made(text, cache) or "", encoding="utf-8")


def holds(folder: Path, text: bytes, cache: Path) -> bool:
    """Return whether the seal in a folder is that of this text."""
    try:
        return intact(text, (folder / NAME).read_text(encoding="utf-8", errors="replace"), cache)
    except OSError:
        return False


def intact(text: bytes, seal: str | None, cache: Path) -> bool:
    """Return whether the seal is that of this text, made with this person's key."""
    expected = made(text, cache)
    return seal is not None and expected is not None and hmac.compare_digest(seal, expected)
