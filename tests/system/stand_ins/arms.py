"""Arms of systems that no registry has, pointed at what stands in for them."""

from __future__ import annotations

import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from runner.config import ArmConfig
from tests.system.stand_ins.loom_server import serving

HERE = Path(__file__).resolve().parent


def apart(arm: ArmConfig) -> bool:
    """Whether what comes back is no event, or the arm is another's twin here: `test_checked_systems` has them.

    A model rewrites what is written, brain answers one text, and what stands in for reflect hardly reads its knobs.
    """
    rewritten = arm.ingest.get("infer") is True or arm.ingest.get("mode") in ("extract", "digest")
    return rewritten or arm.system == "brain" or arm.name == "reflect_on"


def with_settings(arm: ArmConfig, **settings: Any) -> ArmConfig:
    return arm.model_copy(update={"settings": {**arm.settings, **settings}})


def reflect_command(folder: Path) -> Path:
    """An executable `reflect` in a folder."""
    command = folder / "bin" / "reflect"
    command.parent.mkdir(exist_ok=True)
    command.write_text(f"#!{sys.executable} -S\n{(HERE / 'reflect_cli.py').read_text()}")
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    return command


@contextmanager
def standing(arm: ArmConfig, folder: Path) -> Iterator[ArmConfig]:
    """The arm as it can be run here."""
    if arm.system == "loom":
        with serving() as server:
            yield with_settings(arm, base_url=server.url)
    elif arm.system == "reflect":
        command = reflect_command(folder)
        yield with_settings(arm, python=sys.executable, recall=str(HERE / "recall.py"), reflect=str(command))
    elif arm.system == "brain":
        yield with_settings(arm, command=[sys.executable, "-S", str(HERE / "brain_adapter.py")])
    else:
        yield arm
