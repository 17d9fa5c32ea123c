"""What a whole run costs over a bare loop on the same client, and whether its memory is flat.

    python tests/bench/overhead_run.py            50 ms stub, 64 in flight, reader + judge, 1,000 questions
    python tests/bench/overhead_run.py --memory   peak memory at 1,000 and 100,000 questions (fake models, no HTTP)

The stub is a process of its own. Runner and bare loop are measured in processes of their own, in turn, so that neither
sees the other's garbage; CPU is user + system of that process between the first and the last call.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

FLIGHT = 64


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def config(questions: int, url: str | None) -> Any:
    from runner.config import load

    base = {"provider": "openai", "model": "gpt-4.1-mini", "base_url": url, "params": {"temperature": 0}}
    fake = {"provider": "fake"}
    model = base if url else fake
    return load(
        {
            "harness": {
                "name": "synthetic_memory",
                "settings": {"seed": 7, "scenarios": questions // 5, "events": 60, "questions": 5},
            },
            "arm": {"name": "no_memory", "system": "none"},
            "reader": {**model, "name": "r", "prompt": "locomo_qa", **({} if url else {"model": "extractive"})},
            "judge": {
                **model,
                "name": "j",
                "rubric": "locomo_lenient",
                "abstain_rubric": "abstention",
                **({} if url else {"model": "lexical"}),
            },
            "run": {"concurrency": FLIGHT, "scenarios_in_flight": 16},
        }
    )


class Silent:
    def begin(self, total: int, done: int) -> None: ...
    def row(self, row: Any, usd: float) -> None: ...
    def note(self, text: str) -> None: ...
    def end(self) -> None: ...


def whole(questions: int, url: str | None) -> dict[str, float]:
    """The runner: scenarios, prompts, journals, labels, rows and the summary included."""
    from runner.experiment.execute import execute
    from runner.experiment.prepare import prepare
    from runner.record.rundir import RunDir

    experiment = config(questions, url)
    with tempfile.TemporaryDirectory() as folder:
        run = RunDir(Path(folder) / "run")
        run.create(experiment.model_dump(mode="json"))
        import openai  # noqa: F401  both sides pay this import before the clock starts

        start, spent = time.perf_counter(), cpu()
        ready = prepare(experiment)
        execute(run, ready, Silent(), cache_dir=None)
        seconds, burnt = time.perf_counter() - start, cpu() - spent
        summary = run.read_json("summary.json")
        assert summary["state"] == "complete", summary["state"]
        assert summary["errors"] == 0, summary["statuses"]
    return {"seconds": seconds, "cpu": burnt, "rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def bare(questions: int, url: str) -> dict[str, float]:
    """Two calls a question over the SDK's own client, 64 in flight, nothing kept."""
    import openai

    async def main() -> dict[str, float]:
        client = openai.AsyncOpenAI(
            base_url=url, api_key="none", max_retries=0, http_client=openai.DefaultAioHttpClient()
        )
        todo = iter(range(questions))
        prompt = "x" * 1500

        async def worker() -> None:
            for _ in todo:
                for _role in range(2):
                    await client.chat.completions.create(
                        model="gpt-4.1-mini", messages=[{"role": "user", "content": prompt}], temperature=0
                    )

        start, spent = time.perf_counter(), cpu()
        await asyncio.gather(*(worker() for _ in range(FLIGHT)))
        out = {"seconds": time.perf_counter() - start, "cpu": cpu() - spent}
        await client.close()
        return out

    return asyncio.run(main())


def child(what: str, questions: int, url: str | None) -> dict[str, float]:
    words = [sys.executable, __file__, "--child", what, "--questions", str(questions), *(["--url", url] if url else [])]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env={**os.environ, "OPENAI_API_KEY": "x"})
    value: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return value


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--questions", type=int, default=1000)
    parser.add_argument("--latency", type=float, default=0.05)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--child")
    parser.add_argument("--url")
    args = parser.parse_args()
    if args.child:
        print(json.dumps(whole(args.questions, args.url) if args.child == "whole" else bare(args.questions, args.url)))
        return
    if args.memory:
        sizes = [1000, 100_000]
        peaks = [child("whole", size, None)["rss"] for size in sizes]
        for size, peak in zip(sizes, peaks, strict=True):
            print(f"{size:>7,} questions: peak {peak:.0f} MB ({peak / peaks[0]:.2f} x)")
        return
    from tests.support.servers import StubProcess

    with StubProcess(latency_s=args.latency) as stub:
        rounds = [
            (child("whole", args.questions, stub.url), child("bare", args.questions, stub.url))
            for _ in range(args.rounds)
        ]
    rate = statistics.median(b["seconds"] / w["seconds"] for w, b in rounds)
    extra = statistics.median((w["cpu"] - b["cpu"]) / args.questions * 1000 for w, b in rounds)
    for w, b in rounds:
        print(
            f"runner {args.questions / w['seconds']:.0f} q/s {w['cpu']:.2f} CPU s · "
            f"bare {args.questions / b['seconds']:.0f} q/s {b['cpu']:.2f} CPU s"
        )
    print(f"rate {rate:.2f} x the bare loop (bar 0.8); {extra:+.2f} CPU s a 1,000 questions (bar 1.5)")


if __name__ == "__main__":
    main()
