"""Recorded answers written by hand, and judges that label them by a rule, so that every figure can be worked out.

The system, the harness and the reader of these runs do not exist: whoever grades them must not look for them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from runner.types import Gold, Hit, Row, Texts, Usage
from tests.support.recorded import write_run

# An answer says itself which judges accept it: "plain" all of them, "loose" only a lenient one, "bad" none.
ACCEPTS = {"strict": ("plain",), "lenient": ("plain", "loose")}
CONFIG: dict[str, Any] = {
    "harness": {"name": "elsewhere"},
    "reader": {"name": "their-reader", "provider": "imported", "model": "their-reader"},
    "judge": {"name": "their-judge", "provider": "imported", "model": "their-judge"},
}
ARM = {"name": "theirs", "system": "imported", "recall": {"limit": 7, "max_chars": None, "mode": "default"}}


def item(
    number: int,
    answers: Sequence[str] | str,
    labels: Sequence[str],
    *,
    category: str = "1",
    cluster: int | None = None,
    status: str = "ok",
    abstain: bool = False,
) -> tuple[Row, Texts | None]:
    """One question: its row, and its texts unless the memory failed on it."""
    group = f"c{number // 10 if cluster is None else cluster}"
    said = (answers,) if isinstance(answers, str) else tuple(answers)
    correct = labels.count("CORRECT") * 2 > len(labels)
    row = Row(
        id=f"{group}/{number}",
        scenario=group,
        cluster=group,
        category=category,
        status=status,
        error="" if status == "ok" else f"{status} of old",
        label=("CORRECT" if correct else "WRONG") if status == "ok" else "",
        labels=tuple(labels),
        metrics={"locomo_f1": 0.25},
        keys=f"k{number}",
        context=f"x{number}",
        hits=1,
        chars=12,
        flags=("times_in_text",),
        usage={
            "search": Usage(seconds=0.125),
            "reader": Usage(input_tokens=11, output_tokens=3, usd=0.5, calls=1),
            "judge": Usage(input_tokens=99, usd=9.0, calls=1),
        },
        started=1000.0 + number,
        models=("reader-served", "old-judge-served"),
    )
    texts = Texts(
        id=row.id,
        question=f"Question {number}?",
        gold=Gold(answers=("the gold",), abstain=abstain),
        hits=(Hit(key=f"k{number}", text="a memory"),),
        context="a memory",
        answers=said,
        reasons=tuple("old reason" for _ in labels),
    )
    return row, texts if said else None


def plain_items(plain: int, loose: int, bad: int, labels: Mapping[str, str] | None = None) -> list[Any]:
    """Answers in clusters of ten, the three kinds one after the other; the source's own labels by kind."""
    kinds = ["plain"] * plain + ["loose"] * loose + ["bad"] * bad
    own = labels or {"plain": "CORRECT", "loose": "CORRECT", "bad": "WRONG"}
    return [item(n, f"{kind} answer {n}", [own[kind]]) for n, kind in enumerate(kinds)]


def write_source(path: Path, items: Sequence[tuple[Row, Texts | None]], **more: Any) -> Path:
    """A complete run directory of those questions."""
    rows = [row for row, _ in items]
    config = {**CONFIG, **more.pop("config", {})}
    own = {"judge.model": "imported:their-judge", "reader.model": "imported:their-reader"}
    more["instrument"] = {**own, **more.get("instrument", {})}
    write_run(path, rows, arm=more.pop("arm", ARM), config=config, **more)
    encoder = msgspec.json.Encoder()
    lines = [encoder.encode(texts) + b"\n" for _, texts in items if texts is not None]
    (path / "texts.jsonl").write_bytes(b"".join(lines))
    return path


def by_rule(body: dict[str, Any]) -> str:
    """The reply of a judge whose model's name says how strict it is."""
    prompt = body["messages"][-1]["content"]
    answer = prompt.split("<answer>")[1].split("</answer>")[0].strip()
    right = answer.split()[0] in ACCEPTS[body["model"].split("-")[0]] or "declines" in answer
    return json.dumps({"label": "CORRECT" if right else "WRONG", "reason": f"by {body['model']}"})


def write_judges(folder: Path, url: str, *names: str, **more: Any) -> Path:
    """Choices of judges that a local server answers for: ``DIR/judge/NAME.yaml``."""
    (folder / "judge").mkdir(parents=True, exist_ok=True)
    for name in names:
        values = {
            "name": name,
            "provider": "openai",
            "model": name,
            "params": {"max_tokens": 50},
            "rubric": "locomo_lenient",
            "abstain_rubric": "abstention",
            "base_url": url,
            "api_key_env": None,
            **more,
        }
        # JSON is YAML.
        (folder / "judge" / f"{name}.yaml").write_text(json.dumps(values))
    return folder


def rows_of(run: Path) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in map(json.loads, (run / "rows.jsonl").read_text().splitlines())}


def texts_of(run: Path) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in map(json.loads, (run / "texts.jsonl").read_text().splitlines())}


Rule = Callable[[dict[str, Any]], str]
