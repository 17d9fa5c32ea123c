"""Loom's requests, one per step, and the paths of its health check.

The paths and fields are assumptions (``docs/systems.md``), and settings for that reason.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from runner.config import Strict
from runner.system._bridge.answer_paths import UsagePaths
from runner.system._bridge.bridge import BridgeSettings
from runner.system._bridge.hit_paths import HitPaths
from runner.system._bridge.http_client import Auth, RequestLimits
from runner.system._bridge.http_requests import AskRequest, RequestTemplate, SearchRequest, SettleRequest, WriteRequest
from runner.system._bridge.polling import Condition


class Health(Strict):
    """The health check, and the paths in its answer."""

    path: Annotated[str, Field(pattern=r"^/")] = "/v1/health"
    ready: Condition = Condition(at="status", values=["ok", "healthy", "ready"])
    embedding_model: str = "embedding_model"
    embedding_dim: str = "embedding_dim"
    llm_model: str = "llm_model"
    llm_provider: str = "llm_provider"
    build_commit: str = "build_commit"


class Requests(Strict):
    """One request per step; ``{ns}`` is the name of a namespace, ``{namespaces}`` the list of all that were made."""

    register_: Annotated[RequestTemplate, Field(alias="register")] = RequestTemplate(
        path="/v1/namespaces", body={"namespace": "{ns}"}
    )
    write: WriteRequest = WriteRequest(
        path="/v1/memories",
        body={"namespace": "{ns}", "memories": "{events}"},
        item={
            "memory_key": "{event.id}",
            "text": "{event.spoken}",
            "created_at": "{event.time}",
            "metadata": {"actor": "{event.actor}", "kind": "{event.kind}", "session": "{event.session}"},
        },
        batch=50,
    )
    # null: what was written can be found when the write has returned
    settle: SettleRequest | None = SettleRequest(
        path="/v1/namespaces/{ns}", ready=Condition(at="pending", values=[0]), every_s=0.2
    )
    search: SearchRequest = SearchRequest(
        path="/v1/memory/search",
        body={"namespace": "{ns}", "query": "{text}", "limit": "{k}", "mode": "{mode}"},
        hits=HitPaths(
            at="results",
            key="memory_key",
            text="excerpt",
            score="score",
            sources="memory_key",
            time="created_at",
            cosine="cosine",
        ),
    )
    # memory.ask; null: its answers are not asked for
    ask: AskRequest | None = AskRequest(
        path="/v1/memory/ask",
        body={"namespace": "{ns}", "question": "{text}", "limit": "{k}", "mode": "{mode}", "now": "{now}"},
        answer="answer",
        hits=HitPaths(at="sources", key="memory_key", text="excerpt", sources="memory_key"),
        model="model",
        usage=UsagePaths(input_tokens="usage.input_tokens", output_tokens="usage.output_tokens", usd="usage.usd"),
    )
    erase: RequestTemplate = RequestTemplate(
        path="/v1/namespaces/erase", body={"namespaces": "{namespaces}", "purge": True}
    )


class LoomSettings(BridgeSettings):
    """``keep_namespaces`` leaves them for a later look; ``allow_fake`` runs with providers that carry no meaning."""

    base_url: str = "http://127.0.0.1:8080"
    auth: Auth | None = None  # erasing needs the token of an administrator
    keep_namespaces: bool = False
    allow_fake: tuple[Literal["embedding", "llm"], ...] = ()
    modes: tuple[str, ...] = ("default", "hybrid", "lexical", "vector")
    health: Health = Health()
    requests: Requests = Requests()
    limits: RequestLimits = RequestLimits()
