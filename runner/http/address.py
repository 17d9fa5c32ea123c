"""Checks of where a URL points."""

from __future__ import annotations

from urllib.parse import urlsplit

from runner.safe import mask


def unusable(error: Exception) -> str:
    """Return why no client could be made: the environment holds a proxy or certificate setting that is wrong."""
    said = mask(" ".join(str(error).split()))[:200]
    return (
        f"the proxy or certificate settings of the environment cannot be used ({type(error).__name__}: {said}); mend "
        f"or unset HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR, in small letters too"
    )


def is_loopback(base_url: str) -> bool:
    """Return whether a URL points at this machine."""
    host = urlsplit(base_url).hostname or ""
    return host == "localhost" or host == "::1" or host.startswith("127.")
