"""A harness with data at hand, and how its files are written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.config import HarnessConfig


@dataclass(frozen=True)
class Sample:
    """A harness with data at hand. Every string of ``secrets`` stands in that data and is gold."""

    config: HarnessConfig
    secrets: tuple[str, ...] = ()


def write(folder: Path, name: str, data: object) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return file


def config_of(name: str, path: Path, **settings: Any) -> HarnessConfig:
    return HarnessConfig(name=name, dataset={"path": str(path), "sha256": None}, settings=settings)


def json_lines(rows: Sequence[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)
