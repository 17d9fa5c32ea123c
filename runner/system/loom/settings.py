"""What Loom is asked: one request a step, and where its health check tells what it is.

The paths and fields are assumptions (``docs/systems.md``), and settings for that reason.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from runner.config import Strict
from runner.system._bridge.answers import UsagePaths
from runner.system._bridge.bridge import BridgeSettings
from runner.system._bridge.hits import HitPaths
from runner.system._bridge.http_client import Auth, Limits
from runner.system._bridge.http_requests import Ask, Call, Search, Settle, Write
from runner.system._bridge.polling import State


class Health(Strict):
    """Where the server says what it is, and the paths of that in its answer."""

    path: Annotated[str, Field(pattern=r"^/")] = "/v1/health"
    ready: State = State(at="status", values=["ok", "healthy", "ready"])
    embedding_model: str = "embedding_model"
    embedding_dim: str = "embedding_dim"
    llm_model: str = "llm_model"
    llm_provider: str = "llm_provider"
    build_commit: str = "build_commit"


class Requests(Strict):
    """One request a step; ``{ns}`` is the name of a namespace, ``{namespaces}`` the list of all that were made."""

    register_: Annotated[Call, Field(alias="register")] = Call(path="/v1/namespaces", body={"namespace": "{ns}"})
    write: Write = Write(
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
    settle: Settle | None = Settle(path="/v1/namespaces/{ns}", ready=State(at="pending", values=[0]), every_s=0.2)
    search: Search = Search(
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
    ask: Ask | None = Ask(
        path="/v1/memory/ask",
        body={"namespace": "{ns}", "question": "{text}", "limit": "{k}", "mode": "{mode}", "now": "{now}"},
        answer="answer",
        hits=HitPaths(at="sources", key="memory_key", text="excerpt", sources="memory_key"),
        model="model",
        usage=UsagePaths(input_tokens="usage.input_tokens", output_tokens="usage.output_tokens", usd="usage.usd"),
    )
    erase: Call = Call(path="/v1/namespaces/erase", body={"namespaces": "{namespaces}", "purge": True})


class LoomSettings(BridgeSettings):
    """``keep_namespaces`` leaves them for a later look; ``allow_fake`` runs with providers that carry no meaning."""

    base_url: str = "http://127.0.0.1:8080"
    auth: Auth | None = None  # erasing needs the token of an administrator
    keep_namespaces: bool = False
    allow_fake: tuple[Literal["embedding", "llm"], ...] = ()
    modes: tuple[str, ...] = ("default", "hybrid", "lexical", "vector")
    health: Health = Health()
    requests: Requests = Requests()
    limits: Limits = Limits()
