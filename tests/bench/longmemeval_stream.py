"""Memory and time of a run over a file of M's size: histories of 1.5 million tokens through the bm25 arm.

::

    python tests/bench/longmemeval_stream.py                                 # 12 questions of 1.5 million tokens
    python tests/bench/longmemeval_stream.py --questions 500 --keep m.json   # the whole of it, and the file kept

The run has a process of its own, whose peak memory is read after every third of the questions. What must hold: it is
that of the histories in flight, four by default, and once these have been the largest it stays where it is. The file is
generated, in the official layout, from a seeded vocabulary.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # the checkout in place of this folder, whose coverage.py hides the package of that name
    sys.path[0] = str(Path(__file__).resolve().parents[2])

WORDS_PER_TOKEN = 0.75
_TURN_WORDS = 220
_START = datetime(2022, 1, 1, 9)
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def _date(number: int) -> str:
    time = _START + timedelta(hours=7 * number)
    return f"{time:%Y/%m/%d} ({_DAYS[time.weekday()]}) {time:%H:%M}"


def item(number: int, tokens: int, sessions: int, words: list[str]) -> dict[str, Any]:
    """One question; its evidence is one turn somewhere in a history of random words."""
    draw = random.Random(number)
    turns = max(2, round(tokens * WORDS_PER_TOKEN / _TURN_WORDS / sessions))
    length = round(tokens * WORDS_PER_TOKEN / sessions / turns)
    right, code = draw.randrange(sessions), f"code{draw.randrange(10**9)}"
    history = []
    for session in range(sessions):
        talk: list[dict[str, Any]] = [
            {"role": ("user", "assistant")[turn % 2], "content": " ".join(draw.choices(words, k=length))}
            for turn in range(turns)
        ]
        if session == right:
            for turn in talk:
                turn["has_answer"] = False
            talk[0]["content"] += f" My locker code is {code}."
            talk[0]["has_answer"] = True
        history.append(talk)
    return {
        "question_id": f"m{number:05d}",
        "question_type": "single-session-user",
        "question": "What is my locker code?",
        "answer": code,
        "question_date": _date(sessions + 1),
        "haystack_session_ids": [f"{'answer' if at == right else 'filler'}_{at}" for at in range(sessions)],
        "haystack_dates": [_date(at) for at in range(sessions)],
        "haystack_sessions": history,
        "answer_session_ids": [f"answer_{right}"],
    }


def write(path: Path, questions: int, tokens: int, sessions: int = 0) -> None:
    """Write a file of so many questions of so many tokens each, one at a time."""
    words = [f"w{number}" for number in range(20_000)]
    with path.open("w", encoding="utf-8") as out:
        out.write("[")
        for number in range(questions):
            out.write(",\n" if number else "\n")
            json.dump(item(number, tokens, sessions or max(3, tokens // 3000), words), out)
        out.write("\n]\n")


class _Peaks:
    """An observer that reads the peak memory of the process, in MB, after every question."""

    def __init__(self) -> None:
        self.peaks: list[float] = []

    def begin(self, total: int, done: int) -> None: ...

    def row(self, row: object, usd: float) -> None:
        self.peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)

    def note(self, text: str) -> None: ...

    def end(self) -> None: ...


def run(path: Path, folder: Path) -> None:
    """One whole run, and the peak of this process by thirds of it."""
    from omegaconf import OmegaConf

    from runner.config import conf_dir, load
    from runner.experiment.execute import execute
    from runner.experiment.prepare import prepare
    from runner.record.rundir import RunDir

    whole = OmegaConf.create(
        {"budget": {"limit": 10, "max_chars": None}, "arm": OmegaConf.load(conf_dir() / "arm/bm25.yaml")}
    )
    values: Any = OmegaConf.to_container(whole, resolve=True)
    none = {"name": "none", "provider": "none"}
    harness = {"name": "longmemeval", "dataset": {"path": str(path)}}
    config = load({"harness": harness, "arm": values["arm"], "reader": none, "judge": none})
    began = time.perf_counter()
    ready = prepare(config)
    counted = time.perf_counter()
    rows = RunDir(folder)
    rows.create(config.model_dump(mode="json"))
    observer = _Peaks()
    outcome = execute(rows, ready, observer, cache_dir=None)
    ended = time.perf_counter()
    found = [row.metrics.get("recall@10") for row in rows.rows()]
    thirds = [observer.peaks[max(0, len(observer.peaks) * part // 3 - 1)] for part in (1, 2, 3)]
    print(
        f"{len(found)} questions, {outcome.state}: peak after each third {' '.join(f'{peak:.0f}' for peak in thirds)} "
        f"MB; hash and count {counted - began:.1f} s, run {ended - counted:.1f} s; "
        f"found {sum(value == 1 for value in found)}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=12, help="of the file")
    parser.add_argument("--tokens", type=int, default=1_500_000, help="of a history")
    parser.add_argument("--keep", type=Path, help="write the file here and keep it")
    parser.add_argument("--child", metavar="FILE", help=argparse.SUPPRESS)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if args.child:
            run(Path(args.child), Path(folder) / "run")
            return
        path = args.keep or Path(folder) / "m.json"
        if not path.exists():
            write(path, args.questions, args.tokens)
        print(f"{path.stat().st_size / 1e6:.0f} MB, {args.questions} questions of {args.tokens:,} tokens", flush=True)
        subprocess.run([sys.executable, __file__, "--child", str(path)], check=True)


if __name__ == "__main__":
    main()
