"""What `Model.complete` costs over a bare loop on the same SDK client.

    python tests/bench/overhead_client.py [--calls 3000] [--rounds 3]

The stub runs in a process of its own; both loops run in turn in this one, 64 in flight. Bar at 50 ms: at least 0.8 ×
the rate of the bare loop, at most 1.5 CPU ms more a question (two calls: reader and judge).
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from runner.config import ModelConfig
from runner.llm import Request, connect
from runner.llm.chat import ChatModel
from runner.llm.prices import Prices
from runner.llm.reader import Reader
from runner.types import Gold, Question
from tests.support.servers import StubProcess

IN_FLIGHT = 64


async def drive(one: Callable[[int], Awaitable[object]], calls: int) -> tuple[float, float]:
    """Calls a second and CPU milliseconds a call."""
    numbers = iter(range(calls))

    async def worker() -> None:
        for number in numbers:
            await one(number)

    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))
    return calls / (time.perf_counter() - wall), 1000 * (time.process_time() - cpu) / calls


async def measure(url: str, calls: int, rounds: int) -> tuple[list[float], list[float], list[float], list[float]]:
    config = ModelConfig(
        name="bench",
        provider="openai",
        model="gpt-4.1-mini",
        params={"temperature": 0},
        prompt="locomo_qa",
        base_url=url,
    )
    model, reader = connect(config, Prices.load()), Reader(config)
    assert isinstance(model, ChatModel)
    context = "On 8 May 2023, Ann: I went to the lake yesterday.\n" * 40

    def request(number: int) -> Request:
        question = Question(id=f"s/{number}", text=f"Where did Ann go? {number}", category="1", gold=Gold())
        return reader.request(question, context)

    await model.complete(request(0))
    client = model._channel.endpoint.client

    async def ours(number: int) -> object:
        return await model.complete(request(number))

    async def bare(number: int) -> object:
        messages = request(number).messages
        return await client.chat.completions.create(model="gpt-4.1-mini", messages=messages, temperature=0)  # type: ignore[arg-type]

    results: tuple[list[float], list[float], list[float], list[float]] = ([], [], [], [])
    await drive(bare, calls // 4)
    for _ in range(rounds):
        for place, one in ((0, bare), (2, ours)):
            rate, cpu = await drive(one, calls)
            results[place].append(rate)
            results[place + 1].append(cpu)
    await model.close()
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    print("latency   bare calls/s  CPU ms   ours calls/s  CPU ms   rate ratio  CPU ms more a question (2 calls)")
    for latency in (0.05, 0.0):
        with StubProcess(latency_s=latency, model="gpt-4.1-mini") as stub:
            rate_0, cpu_0, rate_1, cpu_1 = map(
                statistics.median, asyncio.run(measure(stub.url, given.calls, given.rounds))
            )
        print(
            f"{1000 * latency:4.0f} ms {rate_0:13.0f} {cpu_0:8.2f} {rate_1:13.0f} {cpu_1:8.2f} "
            f"{rate_1 / rate_0:10.2f} {2 * (cpu_1 - cpu_0):10.2f}"
        )


if __name__ == "__main__":
    main()
