"""A dataset that is several files: their names as published, and one digest of them all."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from urllib.parse import urlsplit

from runner.config import Dataset


def published_name(part: Dataset) -> str:
    """Name of the published file that a part of the data is."""
    return urlsplit(part.url or "").path.rpartition("/")[2] or "?"


def combined(digests: Sequence[tuple[str, str]]) -> str:
    """Sha256 over the name and the digest of every file, in the order given."""
    sha = hashlib.sha256()
    for name, digest in digests:
        sha.update(f"{name} {digest}\n".encode())
    return sha.hexdigest()
