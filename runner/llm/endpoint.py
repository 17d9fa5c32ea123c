"""One OpenAI-compatible endpoint: one client and one gate, shared by every model that uses it.

A :class:`Channel` posts to one path of it (chat completions, embeddings) and explains what fails.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from runner.config import ModelConfig
from runner.errors import ConfigError, EndpointUnusable, ModelFault
from runner.http import HttpFault, Policy, Reply, Throttle, call, is_loopback, start_of, throttle_of, unusable
from runner.safe import hide_value_of, mask
from runner.types import Usage

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
        self.gate: Throttle = throttle_of(base_url, ceiling)
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


class ResponseBody(NamedTuple):
    """The body of a 2xx answer, the requests that it took, and the seconds of the last of them."""

    body: bytes
    sent: int
    seconds: float


class Channel:
    """One path of an endpoint under the one HTTP policy, with every fault explained in one line.

    Opened by its first request in the running event loop; client and gate are shared with whoever uses the same base
    URL and key.

    Parameters
    ----------
    config
        Names the endpoint and its limits; ``config.name`` begins every message.
    path
        ``"/chat/completions"`` or the like.

    Attributes
    ----------
    requests
        Requests really sent, retries included.

    Raises
    ------
    ConfigError
        When the URL is none or the key is not in the environment.
    """

    def __init__(self, config: ModelConfig, path: str) -> None:
        self.config = config
        self.base_url = base_url_of(config)
        self.requests = 0
        self.endpoint: Endpoint | None = None
        self._path = path
        self._key = key_of(config, self.base_url)
        self._policy = Policy(attempts=config.attempts, timeout_s=config.timeout_s, deadline_s=config.deadline_s)
        self._slots = asyncio.Semaphore(config.concurrency)

    async def post(self, body: bytes) -> ResponseBody:
        """Send a JSON body until a good answer comes back.

        Raises
        ------
        ModelFault
            When the policy gives up, or the connection breaks.
        EndpointUnusable
            When no call can succeed: a wrong key, an unknown model, no credit, nobody listening.
        """
        import aiohttp
        import httpx2
        import openai

        if self.endpoint is None:
            try:
                self.endpoint = acquire(self.base_url, self._key, self.config.concurrency)
            except (ValueError, ImportError, OSError, httpx2.InvalidURL) as error:
                raise EndpointUnusable(f"{self.config.name}: {unusable(error)}") from None
        client, gate = self.endpoint.client, self.endpoint.gate
        sent, seconds = 0, 0.0

        async def send() -> Reply:
            nonlocal sent, seconds
            sent += 1
            self.requests += 1
            start = time.perf_counter()
            try:
                response = await client.post(self._path, cast_to=httpx2.Response, content=body, options=_OPTIONS)
            except openai.APIStatusError as error:
                response = error.response
            seconds = time.perf_counter() - start
            return Reply(response.status_code, response.headers, response.content)

        try:
            async with self._slots:
                reply = await call(send, gate, self._policy)
        except HttpFault as fault:
            raise self._explained(fault) from None
        except TimeoutError:
            most = min(self.config.timeout_s, self.config.deadline_s)
            raise ModelFault(
                f"{self.config.name}: no answer from {mask(self.base_url)} within {most:g} s; "
                "raise its timeout_s or lower its concurrency"
            ) from None
        # The SDK wraps most of what fails while sending, and lets pass what its transport does not know.
        except (openai.APIConnectionError, httpx2.RequestError, aiohttp.ClientError, OSError) as error:
            raise self._broken(error, gate.succeeded) from None
        return ResponseBody(reply.body, sent, seconds)

    async def close(self) -> None:
        """Let go of the endpoint."""
        if self.endpoint is not None:
            held, self.endpoint = self.endpoint, None
            await release(held)

    def fault(self, message: str, usage: Usage | None = None) -> ModelFault:
        """A fault of what the endpoint answered, told as ``<name>: <base_url> <message>``."""
        return ModelFault(f"{self.config.name}: {mask(self.base_url)} {message}", usage=usage)

    def _explained(self, fault: HttpFault) -> ModelFault:
        where = f"{self.config.name}: {mask(self.base_url)}: {fault}"
        if fault.status in (401, 403):
            return EndpointUnusable(f"{where}; check the key in ${self.config.api_key_env or 'api_key_env'}")
        if fault.status == 404:
            return EndpointUnusable(
                f"{where}; check the model '{self.config.model}' and that base_url ends as it should (…/v1)"
            )
        if fault.status == 429 and b"insufficient_quota" in fault.body:
            return EndpointUnusable(f"{where}; the account has no credit left")
        return ModelFault(where)

    def _broken(self, error: Exception, succeeded: bool) -> ModelFault:
        cause, unreachable = _cause(error)
        if unreachable and not succeeded:
            return EndpointUnusable(
                f"{self.config.name}: cannot reach {mask(self.base_url)} ({cause}); "
                "start the server, or set base_url or OPENAI_BASE_URL"
            )
        if unreachable:
            return self.fault(f"cannot be reached any more ({cause})")
        return self.fault(f"broke the connection before the answer was whole ({cause})")


_OPTIONS: Final[Any] = {"headers": {"Content-Type": "application/json"}}


def _cause(error: BaseException) -> tuple[str, bool]:
    """Return the underlying error, and whether no connection was made at all.

    The SDK's aiohttp transport reports every broken connection as a connect timeout; the truth is in the chain.
    """
    import aiohttp

    root: BaseException = error
    while (deeper := root.__cause__ or root.__context__) is not None:
        root = deeper
        if isinstance(root, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
            break
    unreachable = isinstance(root, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError)
    if isinstance(root, aiohttp.ClientConnectorError):
        root = root.os_error if isinstance(getattr(root, "os_error", None), OSError) else root
    text = (getattr(root, "strerror", None) or str(root)) if isinstance(root, OSError) else str(root)
    return start_of(text, 120) or type(root).__name__, unreachable


def base_url_of(config: ModelConfig) -> str:
    """Return the model's address: the config's ``base_url``, else ``OPENAI_BASE_URL``, else the public API.

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


def key_of(config: ModelConfig, base_url: str, first_look: str = "reader=extractive_fake judge=lexical_fake") -> str:
    """The key from the environment. A loopback endpoint, or ``api_key_env: null``, needs none.

    Parameters
    ----------
    first_look
        The words that choose fakes in place of what has no key.

    Raises
    ------
    ConfigError
        Naming the variable that is not set.
    """
    key = os.environ.get(config.api_key_env, "").strip() if config.api_key_env else ""
    if key and config.api_key_env:
        hide_value_of(config.api_key_env)  # a server may send a key of any shape back in its error
        if not (key.isascii() and key.isprintable()):
            raise ConfigError([f"{config.name}: ${config.api_key_env} holds characters that no key has"])
        return key
    if config.api_key_env is None or is_loopback(base_url):
        return "none"
    raise ConfigError(
        [
            f"{config.name}: no key in the environment: set {config.api_key_env}, or OPENAI_BASE_URL to a "
            f"local server, or choose {first_look} for a first look"
        ]
    )
