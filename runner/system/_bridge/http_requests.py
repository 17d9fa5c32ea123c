"""The requests that an arm declares to an HTTP server, one per step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from runner.config import Strict
from runner.http import Reply, start_of
from runner.system._bridge.answer_paths import AnswerPaths
from runner.system._bridge.faults import BridgeError
from runner.system._bridge.hit_paths import HitPaths
from runner.system._bridge.http_client import HttpClient, is_page
from runner.system._bridge.polling import PollSettings
from runner.system._bridge.template import TemplateField, fill, fill_text, url_part
from runner.system._bridge.value_types import JsonPath, UrlPath

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Status = Annotated[int, Field(ge=300, le=499)]


class RequestTemplate(Strict):
    """One request. ``path`` is filled with escaped values; ``body`` is a template of JSON."""

    method: Method = "POST"
    path: UrlPath
    body: Any = None
    good: tuple[Status, ...] = ()  # statuses besides 2xx that are no fault, such as the 404 of an erase


class WriteRequest(RequestTemplate):
    """Storing events: one per request with ``{event.…}`` in it, or ``batch`` of them as ``{events}``."""

    batch: Annotated[int, Field(ge=1, le=100_000)] = 1
    item: Any = None  # what each of `{events}` is
    taken: JsonPath | None = None  # path of the number of events that were taken
    job: JsonPath | None = None  # path of what `settle` asks for as {job}


class SettleRequest(RequestTemplate, PollSettings):
    """Polling until what was written can be found."""

    method: Method = "GET"


class SearchRequest(RequestTemplate):
    """A question, and the paths of the hits in its answer."""

    hits: HitPaths


class AskRequest(RequestTemplate, AnswerPaths):
    """A question that the server answers by itself, and the paths of its answer."""


class AboutRequest(RequestTemplate):
    """The server's description of itself: paths of what goes into the record."""

    method: Method = "GET"
    build: JsonPath | None = None
    embedder: JsonPath | None = None
    reranker: JsonPath | None = None
    index_revision: JsonPath | None = None


def template_fields(steps: Iterable[tuple[str, RequestTemplate | None, Sequence[str]]]) -> Iterator[TemplateField]:
    """Yield the templates of every step that has a request: its path and its body."""
    for name, request, known in steps:
        if request is not None:
            yield f"{name}.path", request.path, known
            yield f"{name}.body", request.body, known


async def send(
    client: HttpClient, request: RequestTemplate, values: Mapping[str, Any], fixed: Mapping[str, Any] | None = None
) -> Reply:
    """Fill a request, send it, and return the answer.

    Parameters
    ----------
    fixed
        Keys of the body that no setting can leave out.

    Raises
    ------
    BridgeError
        When there is no good answer, or it is a page for people.
    """
    body = None if request.body is None else fill(request.body, values)
    if fixed:
        if body is not None and not isinstance(body, dict):
            raise BridgeError(f"{request.path}: its body must be an object")
        body = {**(body or {}), **fixed}
    path = fill_text(request.path, values, url_part)
    reply = await client.ask(request.method, path, body, request.good)
    if is_page(reply):
        raise BridgeError(f"{request.method} {start_of(path, 80)}: answers with a page: {start_of(reply.body, 120)}")
    return reply
