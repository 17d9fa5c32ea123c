"""Imports without a process, for tests of the formats: files in, what would be recorded out."""

from __future__ import annotations

import contextlib
import io
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from runner import imports
from runner.cli import main
from runner.imports._shared.prepare import ImportRequest, PreparedArm, prepare_arms
from runner.types import Row, Texts


def bring(form: str, *files: Path, flags: dict[str, str] | None = None, **wanted: Any) -> PreparedArm:
    """The one arm that the files hold."""
    (arm,) = bring_all(form, *files, flags=flags, **wanted)
    return arm


def bring_all(form: str, *files: Path, flags: dict[str, str] | None = None, **wanted: Any) -> list[PreparedArm]:
    return prepare_arms(imports.find(form)(flags or {}), [str(file) for file in files], ImportRequest(**wanted))


@dataclass(frozen=True)
class Said:
    """What a command line came to, without a process of its own."""

    returncode: int
    stdout: str
    stderr: str


def command(*words: str) -> Said:
    """``python -m runner`` in this process and in the current folder: for what needs no process to be seen."""
    out, err = io.StringIO(), io.StringIO()
    with mock.patch.dict(os.environ, {"COLUMNS": ""}), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    return Said(code, out.getvalue(), err.getvalue())


def rows(arm: PreparedArm) -> dict[str, Row]:
    return {row.id: row for row in arm.rows}


def texts(arm: PreparedArm) -> dict[str, Texts]:
    return {item.id: item for item in arm.texts}


def labels(arm: PreparedArm) -> dict[str, tuple[str, ...]]:
    return {row.id: row.labels for row in arm.rows}


def said(arm: PreparedArm) -> str:
    return "\n".join(arm.lines)


def write_json(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def write_lines(path: Path, *items: object) -> Path:
    path.write_text("".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items), encoding="utf-8")
    return path
