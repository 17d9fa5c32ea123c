"""Where a URL points."""

from __future__ import annotations

from urllib.parse import urlsplit


def is_loopback(base_url: str) -> bool:
    """Whether a URL points at this machine."""
    host = urlsplit(base_url).hostname or ""
    return host == "localhost" or host == "::1" or host.startswith("127.")
