"""The requests that an arm of the `http` bridge declares, one a step."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from runner.config import Strict
from runner.system._bridge.answers import AnswerPaths
from runner.system._bridge.hits import HitPaths
from runner.system._bridge.paths import JsonPath, UrlPath
from runner.system._bridge.polling import Waiting

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Status = Annotated[int, Field(ge=300, le=499)]


class Call(Strict):
    """One request. ``path`` is filled with escaped values; ``body`` is a template of JSON."""

    method: Method = "POST"
    path: UrlPath
    body: Any = None
    good: tuple[Status, ...] = ()  # statuses besides 2xx that are no fault, such as the 404 of an erase


class Write(Call):
    """Storing events: one a request with ``{event.…}`` in it, or ``batch`` of them as ``{events}``."""

    batch: Annotated[int, Field(ge=1, le=100_000)] = 1
    item: Any = None  # what each of `{events}` is
    taken: JsonPath | None = None  # path of the number of events that were taken
    job: JsonPath | None = None  # path of what `settle` asks for as {job}


class Settle(Call, Waiting):
    """Asking until what was written can be found."""

    method: Method = "GET"


class Search(Call):
    """A question, and the paths of the hits in its answer."""

    hits: HitPaths


class Ask(Call, AnswerPaths):
    """A question that the server answers by itself, and the paths of its answer."""


class About(Call):
    """What the server says of itself: paths of what goes into the record."""

    method: Method = "GET"
    build: JsonPath | None = None
    embedder: JsonPath | None = None
    reranker: JsonPath | None = None
    index_revision: JsonPath | None = None
