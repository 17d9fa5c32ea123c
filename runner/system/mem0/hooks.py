"""The clients that mem0 is given: the project's embedding model, and the run's way to ask a model.

mem0 knows its providers by a fixed list of names. Both seams used here are public: an object of its base class
``EmbeddingBase`` or ``LLMBase``, put in the place of the one that it built (``memory.embedding_model``,
``memory.llm``). So a query is embedded as a query and a memory as a passage, and every call of a model is journalled,
priced and held to the budget. mem0 goes on after most failures of either; a hook remembers its failure, so that what
was lost is an error and not an empty memory.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import re
import shutil
import sys
import tempfile
import threading
from datetime import datetime
from typing import Any, Final

from runner.errors import IngestError, UsageError
from runner.llm.json_in_text import json_objects
from runner.system._retrieval.embedder import Embedder
from runner.system._retrieval.model_client import ModelClient

_importing = threading.Lock()
_LEGS: Final = ("mem0.vector_stores.qdrant", "mem0.utils.spacy_models")  # where it says that a package is absent
# Of mem0's extraction prompt. Without them it tells the model that the conversation took place today.
_DATES: Final = re.compile(r"^(## (?:Observation|Current) Date\n)\S+", re.MULTILINE)


def _installed(record: logging.LogRecord) -> bool:
    return "not installed" not in record.getMessage()


def load() -> Any:
    """Return mem0's ``Memory``, imported so that it reports nothing and keeps nothing in the user's home.

    Telemetry and the folder are read from the environment when the package is imported, once per process.

    Raises
    ------
    UsageError
        When it was imported before with telemetry on.
    """
    with _importing:
        if "mem0" not in sys.modules:
            home = tempfile.mkdtemp(prefix="memory-runner-mem0-home-")
            atexit.register(shutil.rmtree, home, ignore_errors=True)
            kept = {name: os.environ.get(name) for name in ("MEM0_TELEMETRY", "MEM0_DIR")}
            os.environ.update({"MEM0_TELEMETRY": "False", "MEM0_DIR": home})
            try:
                import mem0  # noqa: F401
            finally:
                for name, value in kept.items():
                    if value is None:
                        os.environ.pop(name, None)
                    else:
                        os.environ[name] = value
        from mem0 import Memory
        from mem0.memory import telemetry

        if telemetry.MEM0_TELEMETRY:
            raise UsageError(
                "mem0 was imported with telemetry on before this run; set MEM0_TELEMETRY=False in the environment"
            )
        if (log := logging.getLogger("mem0")).level == logging.NOTSET:
            log.setLevel(logging.WARNING)  # a line at INFO for each memory would bury a run's log
        for name in _LEGS:  # once per namespace; the record has it already
            logging.getLogger(name).addFilter(_installed)
    return Memory


class EmbeddingHook:
    """The project's embedding model behind mem0's interface."""

    def __init__(self, embedder: Embedder, size: int) -> None:
        self._embedder = embedder
        self._size = size
        self._failed: Exception | None = None

    def check(self) -> None:
        """Raise the failure that mem0 swallowed."""
        failed, self._failed = self._failed, None
        if failed is not None:
            raise failed

    def vectors(self, texts: list[str], asked: bool) -> list[list[float]]:
        try:
            if asked:
                return [self._embedder.query(text).tolist() for text in texts]
            return [vector.tolist() for vector in self._embedder.passages(texts).vectors]
        except Exception as error:
            self._failed = error
            raise

    def as_embedding(self) -> Any:
        """An object of mem0's own class."""
        from mem0.configs.embeddings.base import BaseEmbedderConfig
        from mem0.embeddings.base import EmbeddingBase

        hook = self

        class Embedding(EmbeddingBase):  # type: ignore[misc]
            def embed(self, text: str, memory_action: str | None = None) -> list[float]:
                return hook.vectors([text], memory_action == "search")[0]

            def embed_batch(self, texts: list[str], memory_action: str = "add") -> list[list[float]]:
                return hook.vectors(texts, memory_action == "search")

        return Embedding(BaseEmbedderConfig(embedding_dims=self._size))


class ModelHook:
    """The run's way of asking a model behind mem0's interface.

    Attributes
    ----------
    day
        The day of the messages that are read: what mem0 must take for the day of their observation.
    stopped
        Why the last call gave nothing.
    """

    def __init__(self, client: ModelClient, loop: asyncio.AbstractEventLoop) -> None:
        self.day: datetime | None = None
        self.stopped: Exception | None = None
        self._model_client = client
        self._loop = loop

    def reply(self, messages: list[dict[str, str]], as_json: bool) -> str:
        self.stopped = None
        try:
            request = self._model_client.request([self._dated(message) for message in messages])
            # In a thread of the system's, while the run's models live in the event loop.
            completion = asyncio.run_coroutine_threadsafe(self._model_client.complete(request), self._loop).result()
            if completion.finish == "length":
                raise IngestError("mem0: the reply was cut; raise max_tokens in arm.settings.model.params")
            if as_json and not json_objects(completion.text)[0]:
                raise IngestError("mem0: the model gave no JSON; mem0 would have stored nothing and said nothing")
        except Exception as error:
            self.stopped = error
            raise
        return completion.text

    def _dated(self, message: dict[str, str]) -> dict[str, str]:
        """Return the prompt with the scenario's day: mem0 writes today's into it."""
        if self.day is None or message["role"] != "user":
            return message
        text, count = _DATES.subn(rf"\g<1>{self.day:%Y-%m-%d}", message["content"])
        if count < 2:
            raise IngestError("mem0: this version builds its prompt in another way; install mem0ai 2.2")
        return {**message, "content": text}

    def as_llm(self) -> Any:
        """An object of mem0's own class."""
        from mem0.llms.base import LLMBase

        hook = self

        class Asked(LLMBase):  # type: ignore[misc]
            def generate_response(
                self, messages: list[dict[str, str]], response_format: Any = None, **more: Any
            ) -> str:
                return hook.reply(messages, response_format is not None)

        return Asked()
