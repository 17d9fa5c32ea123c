"""A command-line model: a process that reads the prompt on stdin and prints JSON.

The process leads a group of its own and is killed as a group at the timeout, so that nothing it started outlives it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from runner.config import ModelConfig
from runner.dotted import at
from runner.errors import EndpointUnusable, ModelFault
from runner.http import start_of
from runner.llm import Model, Request, estimated
from runner.llm.json_in_text import json_objects
from runner.llm.prices import Prices
from runner.process import Child, cannot_run
from runner.types import Completion, Usage

__all__ = ["CommandModel", "at"]

_OUTPUT_MAX = 8_000_000  # bytes of stdout; more is no model's reply


class CommandModel(Model):
    """One process a call. ``{model}`` in the command stands for the model of the config."""

    def __init__(self, config: ModelConfig, prices: Prices) -> None:
        super().__init__(config)
        self._argv = [part.replace("{model}", config.model) for part in config.command]
        self._prices = prices
        self._slots = asyncio.Semaphore(config.concurrency)

    async def complete(self, request: Request) -> Completion:
        async with self._slots:
            start = time.perf_counter()
            code, out, err = await self._run(request.prompt.encode())
            seconds = time.perf_counter() - start
        objects, _ = json_objects(out.decode("utf-8", "replace"))
        if not objects:
            printed = f"; it printed: {start_of(out)}" if out.strip() else ""
            raise self._fault(f"ended with code {code} and no JSON{printed}{err}")
        body = objects[-1]
        paths = self.config.output
        text = at(body, paths.text)
        said = text.strip() if isinstance(text, str) else ""
        model = _name(at(body, paths.model))
        usage = self._usage(request, said, model, body, seconds)
        # A process that failed tells what it spent, or spent nothing that is known.
        told = usage if usage.measured or _number(at(body, paths.usd)) is not None else None
        if at(body, paths.error) or code != 0:
            why = f": {start_of(said)}" if said else ""
            raise self._fault(f"ended with code {code} and reported an error{why}{err}", told)
        if not isinstance(text, str):
            raise self._fault(f"printed JSON without text at '{paths.text}': {start_of(out)}", told)
        if not said:
            raise self._fault("gave an empty reply", usage)
        return Completion(text=said, model=model, usage=usage)

    def _usage(self, request: Request, text: str, model: str, body: Any, seconds: float) -> Usage:
        paths = self.config.output
        into, out = _number(at(body, paths.input_tokens)), _number(at(body, paths.output_tokens))
        usd, cached = _number(at(body, paths.usd)), int(_number(at(body, paths.cached_tokens)) or 0)
        guess = estimated(request.prompt, text, model or self.config.model, self._prices)
        tokens_in = guess.input_tokens if into is None else int(into)
        tokens_out = guess.output_tokens if out is None else int(out)
        if usd is None:
            usd = self._prices.usd(model or self.config.model, tokens_in, tokens_out, cached)
        return Usage(
            input_tokens=tokens_in,
            output_tokens=tokens_out,
            cached_tokens=cached,
            usd=usd,
            calls=1,
            seconds=seconds,
            measured=into is not None and out is not None,
        )

    async def _run(self, prompt: bytes) -> tuple[int, bytes, str]:
        try:
            child = await Child.start(self._argv)
        except OSError as error:
            raise EndpointUnusable(f"{self.config.name}: {cannot_run(self._argv[0], error)}") from None
        self.requests += 1
        try:
            async with asyncio.timeout(self.config.timeout_s):
                _, out, _ = await asyncio.gather(
                    child.write_stdin(prompt, last=True), child.read_stdout(_OUTPUT_MAX), child.read_stderr()
                )
                if len(out) > _OUTPUT_MAX:
                    raise self._fault(f"printed more than {_OUTPUT_MAX} bytes")
                code = await child.wait()
        except TimeoutError:
            raise self._fault(
                f"took longer than {self.config.timeout_s:g} s and was stopped; raise its timeout_s"
            ) from None
        finally:
            await child.kill()  # whatever it started goes with it, after a good answer too
        return code, out, child.stderr_tail()

    def _fault(self, message: str, usage: Usage | None = None) -> ModelFault:
        return ModelFault(f"{self.config.name}: '{self._argv[0]}' {message}", usage=usage)


def _number(value: Any) -> float | None:
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15
    return float(value) if good else None


def _name(value: Any) -> str:
    """A model's name; a mapping by model (as per-model usage is) gives its keys."""
    if isinstance(value, Mapping):
        return "+".join(sorted(str(key) for key in value))
    return value if isinstance(value, str) else ""
