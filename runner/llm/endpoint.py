"""One OpenAI-compatible endpoint: one client and one gate, shared by every model that uses it."""

from __future__ import annotations

import asyncio
import logging
import os
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from runner.config import ModelConfig, mask
from runner.errors import ConfigError
from runner.http import Gate, gate_of

if TYPE_CHECKING:
    from openai import AsyncOpenAI

OPENAI_URL = "https://api.openai.com/v1"
_CONNECT_S = 10.0
# Common servers (uvicorn, llama.cpp) close an idle connection after 5 s. Closing first avoids sending into a socket
# that is being closed, which would be a transport error.
_IDLE_S = 4.0
_CONNECTIONS = 8192  # the gate bounds them; None would mean aiohttp's own default of 100


class Endpoint:
    """Client and gate of one base URL in one event loop, counted by its users."""

    def __init__(self, base_url: str, key: str, ceiling: int) -> None:
        self.base_url = base_url
        self.gate: Gate = gate_of(base_url, ceiling)
        self.users = 0
        self.client = _client(base_url, key)


def _client(base_url: str, key: str) -> AsyncOpenAI:
    import httpx2
    from openai import AsyncOpenAI, DefaultAioHttpClient

    # A line at INFO for each request would bury a run's log; whoever set a level keeps it.
    if (log := logging.getLogger("httpx2")).level == logging.NOTSET:
        log.setLevel(logging.WARNING)
    # No timeout of the client's own but for connecting: the policy bounds the whole request, which a timeout between
    # two reads does not.
    timeout = httpx2.Timeout(None, connect=_CONNECT_S)
    limits = httpx2.Limits(max_connections=_CONNECTIONS, max_keepalive_connections=None, keepalive_expiry=_IDLE_S)
    http = DefaultAioHttpClient(
        timeout=timeout,
        limits=limits,
        follow_redirects=False,
        trust_env=not is_loopback(base_url),  # a proxy of the environment is not for a server on this machine
    )
    return AsyncOpenAI(api_key=key, base_url=base_url, max_retries=0, timeout=timeout, http_client=http)


_open: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[str, str], Endpoint]] = WeakKeyDictionary()


def acquire(base_url: str, key: str, ceiling: int) -> Endpoint:
    """The endpoint, opened by its first user in the running event loop."""
    endpoints = _open.setdefault(asyncio.get_running_loop(), {})
    endpoint = endpoints.get((base_url, key))
    if endpoint is None:
        endpoint = endpoints[base_url, key] = Endpoint(base_url, key, ceiling)
    endpoint.gate.raise_ceiling(ceiling)
    endpoint.users += 1
    return endpoint


async def release(endpoint: Endpoint) -> None:
    """Let go of an endpoint; its last user closes the client."""
    endpoint.users -= 1
    if endpoint.users:
        return
    endpoints = _open.get(asyncio.get_running_loop(), {})
    for name in [name for name, item in endpoints.items() if item is endpoint]:
        del endpoints[name]
    await endpoint.client.close()
    await asyncio.sleep(0)  # the transports close in the next turn of the loop


def base_url_of(config: ModelConfig) -> str:
    """Where the model is: the config's ``base_url``, else ``OPENAI_BASE_URL``, else the public API.

    Raises
    ------
    ConfigError
        When it is not an http(s) URL.
    """
    url = (config.base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI_URL).strip().rstrip("/")
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        good = False
    if not good:
        raise ConfigError([f"{config.name}: base_url '{mask(url)}' is no http(s) URL; write http://127.0.0.1:8080/v1"])
    return url


def key_of(config: ModelConfig, base_url: str) -> str:
    """The key from the environment. A loopback endpoint, or ``api_key_env: null``, needs none.

    Raises
    ------
    ConfigError
        Naming the variable that is not set.
    """
    key = os.environ.get(config.api_key_env, "").strip() if config.api_key_env else ""
    if key:
        if not (key.isascii() and key.isprintable()):
            raise ConfigError([f"{config.name}: ${config.api_key_env} holds characters that no key has"])
        return key
    if config.api_key_env is None or is_loopback(base_url):
        return "none"
    raise ConfigError(
        [
            f"{config.name}: no key in the environment: set {config.api_key_env}, or OPENAI_BASE_URL to a "
            "local server, or choose reader=extractive_fake judge=lexical_fake for a first look"
        ]
    )


def is_loopback(base_url: str) -> bool:
    """Whether a URL points at this machine."""
    host = urlsplit(base_url).hostname or ""
    return host == "localhost" or host == "::1" or host.startswith("127.")
