"""The build of a system: a person's own code is told by its content, a shipped one by this distribution's version."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

import runner
from runner.config import ArmConfig
from runner.errors import ConfigError
from runner.system import Opening, build
from runner.types import Event, Query
from tests.support import driving

OWN = """
import {name}_help
from runner.system import Capabilities, {base}
class Own({base}):
    {body}
SYSTEM = Own
"""


def own(folder: Path, name: str = "notebook", base: str = "EmbeddedSystem", body: str = "pass") -> Path:
    folder.mkdir(exist_ok=True)
    if base in ("EmbeddedSystem", "VectorSystem"):  # those that leave both to be written
        body += "\n    index = find = lambda *_: None"
    (folder / f"{name}.py").write_text(OWN.format(name=name, base=base, body=body))
    (folder / f"{name}_help.py").write_text("WORDS = 1\n")
    return folder


def opened(folder: Path, name: str = "notebook", **settings: Any) -> str:
    """The build of a system of that folder, whose modules are imported anew."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setattr(runner.system, "__path__", [*runner.system.__path__, str(folder)])
        patch.setattr(sys, "dont_write_bytecode", True)  # a file that is written twice in a second is another file
        try:
            return driving.opened(ArmConfig(name="own", system=name, settings=settings)).build
        finally:
            for module, held in list(sys.modules.items()):
                if Path(getattr(held, "__file__", None) or "/").is_relative_to(folder.parent):
                    del sys.modules[module]
                    vars(runner.system).pop(module.removeprefix("runner.system."), None)


def test_ones_own_build_follows_its_code(tmp_path: Path) -> None:
    folder = own(tmp_path / "system")
    first = opened(folder)
    name, _, digest = first.partition("@sha256:")
    assert name == "notebook"
    assert len(digest) == 12
    assert set(digest) <= set("0123456789abcdef")
    assert opened(folder) == first
    (folder / "notes.txt").write_text("no code")
    assert opened(folder) == first
    (folder / "other.py").write_text("another memory beside it")
    (folder / "below").mkdir()
    (folder / "below" / "more.py").write_text("")
    assert opened(folder) == first
    with (folder / "notebook.py").open("a") as file:
        file.write("# another version\n")
    assert opened(folder) != first


def test_a_folder_of_ones_own_is_hashed_whole(tmp_path: Path) -> None:
    folder = own(tmp_path / "system")
    package = folder / "pad"
    package.mkdir()
    text = (folder / "notebook.py").read_text().replace("import notebook_help", "from runner.system.pad import words")
    (package / "__init__.py").write_text(text)
    (package / "words.py").write_text("WORDS = 1\n")
    first = opened(folder, "pad")
    assert first.startswith("pad@sha256:")
    (folder / "notebook.py").write_text("another memory beside it")
    assert opened(folder, "pad") == first
    (package / "words.py").write_text("WORDS = 2\n")
    assert opened(folder, "pad") != first


def test_a_system_upon_a_shipped_one_is_ones_own(tmp_path: Path) -> None:
    folder = own(tmp_path / "system", base="VectorSystem")
    text = (folder / "notebook.py").read_text()
    moved = text.replace("Capabilities, VectorSystem", "Capabilities")
    (folder / "notebook.py").write_text("from runner.system._retrieval.vector_system import VectorSystem" + moved)
    first = opened(folder, embedder={"provider": "fake"})
    assert first.startswith("notebook@sha256:")
    with (folder / "notebook.py").open("a") as file:
        file.write("# another version\n")
    assert opened(folder, embedder={"provider": "fake"}) != first


def test_a_base_class_in_another_folder_counts(tmp_path: Path) -> None:
    base = own(tmp_path / "lib", "base")
    folder = own(tmp_path / "system")
    text = (folder / "notebook.py").read_text().replace("(EmbeddedSystem)", "(base.Own)")
    (folder / "notebook.py").write_text(f"import sys; sys.path.append({str(base)!r}); import base\n{text}")
    first = opened(folder)
    (base / "base_help.py").write_text("WORDS = 2\n")
    assert opened(folder) == first
    with (base / "base.py").open("a") as file:
        file.write("# another version\n")
    assert opened(folder) != first


@pytest.mark.parametrize("name", ["bm25", "none", "full_context"])
def test_a_shipped_build_is_the_version(name: str) -> None:
    async def session() -> str:
        system = build(ArmConfig(name=name, system=name))
        try:
            return (await system.open(Opening())).build
        finally:
            await system.close()

    assert asyncio.run(session()) == f"agent-memory-runner {runner.__version__}"


@pytest.mark.parametrize(
    ("base", "body"),
    [
        ("EmbeddedSystem", "capabilities = Capabilities(reads_gold=True)"),
        (
            "MemorySystem",
            "def __init__(self, arm):\n        super().__init__(arm)\n"
            "        self.capabilities = Capabilities(reads_gold=True)",
        ),
        ("Oracle", "pass"),
    ],
)
def test_the_gold_is_for_the_shipped_oracle_alone(
    base: str, body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"reads_gold_{base.lower()}"
    folder = own(tmp_path / "system", name, base, body)
    if base == "Oracle":
        text = (folder / f"{name}.py").read_text().replace("Capabilities, Oracle", "Capabilities")
        (folder / f"{name}.py").write_text("from runner.system.oracle import Oracle" + text)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(runner.system, "__path__", [*runner.system.__path__, str(folder)])
    with pytest.raises(ConfigError, match=rf"arm\.system: '{name}' sets capabilities\.reads_gold.*'oracle'"):
        build(ArmConfig(name="a", system=name))
    assert build(ArmConfig(name="a", system="oracle")).capabilities.reads_gold


def test_what_is_no_ranking_says_so() -> None:
    unranked = {"full_context", "full_dump", "recency_window", "static_file"}
    for name in (*sorted(unranked), "oracle", "bm25", "none"):
        assert build(ArmConfig(name=name, system=name)).capabilities.ranked is (name not in unranked)


def test_no_row_of_a_replay_overshoots_the_budget_that_a_reader_has() -> None:
    from runner.experiment.recall_budget import cut_to_budget

    async def session() -> None:
        from datetime import datetime

        events = [Event(id=str(at), text="word " * (at % 7 + 1), time=datetime(2023, 5, at + 1)) for at in range(20)]
        for name in ("full_context", "full_dump", "recency_window", "static_file", "bm25"):
            system = build(ArmConfig(name=name, system=name))
            await system.open(Opening())
            await system.write("a", events)
            for room in (60, 200, 333):
                found = await system.search("a", Query(text="word", k=None, max_chars=room))
                delivered = cut_to_budget(found.hits, None, room)
                assert delivered.flags == ()
                assert len(delivered.text) <= room
            await system.close()

    asyncio.run(session())
