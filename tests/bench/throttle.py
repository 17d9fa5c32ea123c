"""How well 429s are taken: extra requests and wall time against the ideal.

    python tests/bench/throttle.py [--calls 2000]

A stub of 200 ms serves 32 at once (or 160 a second) and answers 429 to the rest; 64 workers want in. Bar: at most 10 %
extra requests, wall at most 1.3 × ideal. Ideal is a run of the same client with as many workers as the server takes,
so that no 429 occurs; "limit" is where the gate ended.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from runner.config import ModelConfig
from runner.llm import RequestBuilder, connect
from runner.llm.prices import Prices
from tests.support.servers import StubProcess

IN_FLIGHT = 64
LATENCY_S = 0.2  # long enough that the CPU is not what limits


async def run(url: str, calls: int, workers: int) -> tuple[float, int, int]:
    config = ModelConfig(name="bench", provider="openai", model="m", base_url=url)
    model, requests = connect(config, Prices.load()), RequestBuilder(config)
    numbers = iter(range(calls))

    async def worker() -> None:
        for number in numbers:
            await model.complete(requests.of([{"role": "user", "content": str(number)}]))

    start = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(workers)))
    wall = time.perf_counter() - start
    limit = model._channel.endpoint.gate.limit  # type: ignore[attr-defined]
    await model.close()
    return wall, model.requests, limit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=2000)
    calls = parser.parse_args().calls
    # name, what the stub does, workers that it can take, share of the calls (a slower server gets fewer)
    cases: list[tuple[str, dict[str, Any], int, float]] = [
        ("32 at once, no Retry-After", {"capacity": 32}, 32, 1),
        ("32 at once, Retry-After: 1", {"capacity": 32, "retry_after": "1"}, 32, 1),
        ("32 at once, Retry-After: 0", {"capacity": 32, "retry_after": "0"}, 32, 1),
        ("8 at once, no Retry-After", {"capacity": 8}, 8, 0.5),
        ("160 a second, Retry-After: 1", {"rate": 160, "retry_after": "1"}, 32, 1),
    ]
    print(f"{'server':32} {'extra requests':>15} {'wall s':>8} {'ideal s':>8} {'ratio':>6} {'limit':>6}")
    for name, settings, workers, share in cases:
        done = int(calls * share)
        with StubProcess(latency_s=LATENCY_S, model="m") as stub:
            ideal, _, _ = asyncio.run(run(stub.url, done, workers))
        with StubProcess(latency_s=LATENCY_S, model="m", **settings) as stub:
            wall, sent, limit = asyncio.run(run(stub.url, done, IN_FLIGHT))
        extra = 100 * (sent / done - 1)
        print(f"{name:32} {extra:13.1f} % {wall:8.2f} {ideal:8.2f} {wall / ideal:6.2f} {limit:6d}")


if __name__ == "__main__":
    main()
