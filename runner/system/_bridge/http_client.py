"""One HTTP server behind an arm: requests under the project's one policy, every failure a :class:`BridgeError`."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import urlsplit

from pydantic import Field

from runner.config import Strict
from runner.data.strict_json import refuse_constant
from runner.errors import ConfigError
from runner.http import HttpFault, Policy, Reply, Throttle, call, is_loopback, start_of, throttle_of, unusable
from runner.safe import hide_value_of, mask
from runner.system._bridge.faults import BridgeError, RequestRefused

if TYPE_CHECKING:
    import httpx2

_CONNECT_S: Final = 10.0
_IDLE_S: Final = 4.0  # common servers close an idle connection after 5 s; closing first sends nothing into a closed one
_BODY_MAX: Final = 32_000_000  # bytes of an answer

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, 5.6.2
_FRAMING: Final = ("content-length", "transfer-encoding", "connection")

Seconds = Annotated[float, Field(gt=0, le=86_400)]


class Auth(Strict):
    """A header whose value is in the environment: the config names the variable and never holds the value."""

    env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
    header: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]+$")] = "Authorization"
    prefix: Annotated[str, Field(pattern=r"^[ -~]*$")] = "Bearer "


class RequestLimits(Strict):
    """The patience of a request; see ``runner.http``."""

    timeout_s: Seconds = 60.0  # one request
    deadline_s: Seconds = 600.0  # with all its retries and waits
    attempts: Annotated[int, Field(ge=1, le=20)] = 4  # requests sent in all; a 429 is not counted
    concurrency: Annotated[int, Field(ge=1, le=1024)] = 16  # requests in flight; a 429 shrinks it


def url_problems(url: str, key: str) -> list[str]:
    """Return a line when a base URL cannot be used."""
    try:
        parts = urlsplit(url)
        port = parts.port if parts.port is not None else 80
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and port > 0
        good = good and url.isprintable() and not any(char.isspace() for char in url)
        (parts.hostname or "").encode("idna")  # what no resolver could look up
    except ValueError:
        return [f"{key}: '{start_of(mask(url), 120)}' is not an http(s) URL; write http://127.0.0.1:8080"]
    if parts.username is not None or parts.password is not None:
        return [f"{key}: holds a credential; name an environment variable in arm.settings.auth.env instead"]
    if not good or parts.query or parts.fragment:
        return [
            f"{key}: '{start_of(mask(url), 120)}' is not an http(s) URL without a query; write http://127.0.0.1:8080"
        ]
    return []


def headers_of(auth: Auth | None, headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of every request.

    Raises
    ------
    ConfigError
        When the variable that holds the credential is not set.
    """
    found = dict(headers)
    if auth is not None:
        value = os.environ.get(auth.env, "").strip()
        if not value:
            raise ConfigError([f"arm.settings.auth.env: {auth.env} is not set in the environment; set it"])
        hide_value_of(auth.env)  # a server may send a key of any shape back in its error
        if not (value.isascii() and value.isprintable()):
            raise ConfigError([f"arm.settings.auth.env: ${auth.env} holds characters that no header has"])
        found[auth.header] = auth.prefix + value
    return found


def header_problems(headers: Mapping[str, str], key: str) -> list[str]:
    """Return a line for every header that is invalid or that each request sets itself; values are not shown."""
    found = []
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name):
            found.append(f"{key}: '{start_of(name, 40)}' is not a name of a header")
        elif name.lower() in _FRAMING:
            found.append(f"{key}.{name}: is said by every request itself; leave it out")
        elif not (value.isascii() and value.isprintable()):
            found.append(f"{key}.{name}: holds characters that no header has")
    return found


def http_client(url: str, headers: Mapping[str, str], connections: int) -> httpx2.AsyncClient:
    """Return a client without redirects, without a proxy for this machine, and with a timeout for connecting alone."""
    import httpx2

    # A line at INFO for each request would bury a run's log; whoever set a level keeps it.
    if (logger := logging.getLogger("httpx2")).level == logging.NOTSET:
        logger.setLevel(logging.WARNING)
    try:
        return httpx2.AsyncClient(
            headers=dict(headers),
            timeout=httpx2.Timeout(None, connect=_CONNECT_S),
            limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=None, keepalive_expiry=_IDLE_S),
            follow_redirects=False,
            trust_env=not is_loopback(url),
        )
    except (ValueError, ImportError, OSError, httpx2.InvalidURL) as error:
        raise BridgeError(unusable(error)) from None


class HttpClient:
    """One base URL with its client and its throttle."""

    def __init__(self, url: str, headers: Mapping[str, str], limits: RequestLimits) -> None:
        self.url = url.rstrip("/")
        self._limits = limits
        self._client = http_client(self.url, headers, limits.concurrency)
        self._gate: Throttle = throttle_of(self.url, limits.concurrency)

    async def ask(self, method: str, path: str, body: Any, good: tuple[int, ...] = ()) -> Reply:
        """Send one request until the answer is 2xx or one of ``good``, and return the answer.

        Parameters
        ----------
        body
            JSON to send; ``None``: no body.

        Raises
        ------
        Refusal
            When the server answered otherwise, as often as the policy asked.
        BridgeError
            When there is no whole answer.
        """
        import httpx2

        content = None if body is None else json.dumps(body).encode()
        headers = {} if body is None else {"Content-Type": "application/json"}

        async def send() -> Reply:
            async with self._client.stream(method, self.url + path, content=content, headers=headers) as response:
                kept = bytearray()
                async for chunk in response.aiter_bytes():
                    kept += chunk
                    if len(kept) > _BODY_MAX:
                        raise BridgeError(f"{self._at(path)} answers with more than {_BODY_MAX // 1_000_000} MB")
                return Reply(response.status_code, response.headers, bytes(kept))

        limits = self._limits
        policy = Policy(attempts=limits.attempts, timeout_s=limits.timeout_s, deadline_s=limits.deadline_s)
        try:
            return await call(send, self._gate, policy)
        except HttpFault as fault:
            if fault.status in good:
                return Reply(fault.status, {}, fault.body)
            hint = ""
            if fault.status in (401, 403):
                hint = "; name the variable that holds the key in arm.settings.auth.env"
            raise RequestRefused(f"{method} {self._at(path)}: {fault}{hint}") from None
        except TimeoutError:
            most = min(limits.timeout_s, limits.deadline_s)
            raise BridgeError(f"{method} {self._at(path)}: no answer within {most:g} s") from None
        except httpx2.ConnectError as error:
            raise BridgeError(f"cannot reach {mask(self.url)} ({_cause(error)}); start the server") from None
        except UnicodeError as error:
            raise BridgeError(f"{mask(self.url)} is not an address that can be looked up ({_cause(error)})") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            what = "broke the connection before the answer was whole"
            raise BridgeError(f"{method} {self._at(path)}: {what} ({_cause(error)})") from None

    async def reach(self) -> None:
        """Check that anybody listens; only on this machine, since a proxy may stand before others.

        Raises
        ------
        BridgeError
            When nobody does.
        """
        if not is_loopback(self.url):
            return
        parts = urlsplit(self.url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        try:
            async with asyncio.timeout(_CONNECT_S):
                _, writer = await asyncio.open_connection(parts.hostname, port)
        except (OSError, TimeoutError) as error:
            raise BridgeError(f"cannot reach {mask(self.url)} ({_cause(error)}); start the server") from None
        writer.close()

    async def close(self) -> None:
        """Let go of its connections."""
        await self._client.aclose()
        await asyncio.sleep(0)  # the transports close in the next turn of the loop

    def _at(self, path: str) -> str:
        return start_of(mask(path.partition("?")[0]), 80)


def json_of(reply: Reply, where: str) -> Any:
    """The JSON of an answer.

    Raises
    ------
    BridgeError
        When it is empty, a page, or anything else.
    """
    if not reply.body.strip():
        raise BridgeError(f"{where} answers with an empty body (HTTP {reply.status})")
    try:
        return json.loads(reply.body, parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        kind = reply.headers.get("content-type", "").partition(";")[0]
        raise BridgeError(
            f"{where} answers with something that is not JSON ({kind or 'no content type'}): {start_of(reply.body)}"
        ) from None


def is_page(reply: Reply) -> bool:
    """Return whether an answer is a page for people (a proxy's, a login's), whatever its status says."""
    kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind in ("text/html", "application/xhtml+xml")


def _cause(error: BaseException) -> str:
    root: BaseException = error
    while (deeper := root.__cause__ or root.__context__) is not None:
        root = deeper
    text = (root.strerror or str(root)) if isinstance(root, OSError) else str(root)
    return start_of(text, 120) or type(root).__name__
