"""reflect (stevengonsalvez/ainb-reflect-memory) through its command line, hermetic.

Every namespace has a knowledge base and a state folder of its own. Events become notes, ``reflect reindex --force``
indexes them, and ``recall.py`` is asked with ``--no-cache --confidence ANY``. What the engine does silently is made
loud: it answers a failure with an empty output and exit code 0, unless it is told to say so on stderr. Every knob is
exported, ``1`` or ``0``: an absent one is on.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as changed
from pathlib import Path
from typing import Any, Final

from msgspec import structs

from runner.config import ArmConfig, own_path
from runner.errors import ConfigError
from runner.http import start_of
from runner.process import Child, cannot_run
from runner.system import Capabilities, Opening, Provenance, build_version, within
from runner.system._base.text import clean
from runner.system._bridge.bridge import Bridge
from runner.system._bridge.faults import BridgeError
from runner.system._bridge.one_shot import Finished, finish
from runner.system._bridge.self_description import ResolvedDescription
from runner.system._retrieval.scratch_folder import ScratchFolder
from runner.system.reflect import note_files
from runner.system.reflect.environment import (
    ReflectKnobs,
    ReflectSettings,
    environment,
    exported,
    folders,
    revision,
    variable,
)
from runner.types import ABSTAINED_MIN_OVERLAP, EMPTY_QUERY, Event, Hit, Query, Retrieval

_INDEX: Final = "nano_graphrag_cache"
_ALL: Final = 1_000_000  # for a budget without a bound
_SAID: Final = re.compile(r"\brecall: (.+)")  # how recall.py tells a failure once REFLECT_RECALL_DEBUG is set


@dataclass
class _Base:
    """One namespace on disk."""

    folder: Path
    notes: dict[str, Event] = field(default_factory=dict)  # by name
    indexed: bool = False

    @property
    def kb(self) -> Path:
        return self.folder / "kb"

    @property
    def state(self) -> Path:
        return self.folder / "state"


class Reflect(Bridge):
    """Markdown notes, a graph index, and a recall script."""

    Settings = ReflectSettings
    Knobs = ReflectKnobs
    capabilities = Capabilities(asynchronous=True, durable=True)
    settings: ReflectSettings
    knobs: ReflectKnobs

    def __init__(self, arm: ArmConfig) -> None:
        super().__init__(arm)
        self.searches = self.settings.concurrency
        self.capabilities = changed(self.capabilities, links=self.knobs.graph_arm)
        self._recalls = asyncio.Semaphore(self.settings.concurrency)
        self._indexing = asyncio.Semaphore(1)  # it loads an embedding model and takes all cores
        self._scratch = ScratchFolder("reflect")
        self._bases: dict[str, _Base] = {}
        self._shared: dict[str, str] = {}

    @classmethod
    def inert(cls, harness: str) -> dict[str, str]:
        return {
            "tiered_inject": "REFLECT_TIERED_INJECT is read by a session hook, never by recall.py",
            "fuzzy_cache": "RECALL_FUZZY_CACHE has nothing to act on: recall is asked with --no-cache",
        }

    @classmethod
    def caveats(cls, harness: str) -> list[str]:
        return [
            "reflect: an arm that fails inside the engine (no cross-encoder model, no entity graph) is left out "
            "silently, and the rest answers",
            "reflect: RECALL_FOLLOWUP writes a metric and RECALL_BITEMPORAL_EDGES has no caller in recall.py of June "
            "2026; check your version",
        ]

    # --- what it is -------------------------------------------------------------------------------------------------

    async def _open(self, opening: Opening) -> ResolvedDescription:
        settings = self.settings
        script = own_path(settings.recall)
        try:
            source = script.read_bytes()
        except OSError as error:
            raise ConfigError(
                [
                    f"arm.settings.recall: cannot read '{settings.recall}' ({error.strerror}); give the path of "
                    "plugin/skills/recall/scripts/recall.py in a checkout, or set REFLECT_RECALL_SCRIPT"
                ]
            ) from None
        self._script = str(script.resolve())
        command = shutil.which(settings.reflect)
        if command is None:
            raise ConfigError([f"arm.settings.reflect: there is no command '{settings.reflect}'; install reflect-kb"])
        self._command = command
        self._check_knobs(source.decode("utf-8", "replace"))
        self._shared = {**environment(settings, Path(command).parent), **exported(settings, self.knobs)}
        base = _Base(self._scratch.new())
        version = (await self._reflect(base, "--version", settings.timeout_s)).out.decode("utf-8", "replace").strip()
        sha = hashlib.sha256(source).hexdigest()[:12]
        declared = settings.declares
        reranker = revision(settings.ce_model, self._shared) if self.knobs.cross_encoder else "none"
        provenance = Provenance(
            build=declared.build or f"{build_version(self)}; {start_of(version, 60)}, recall.py@sha256:{sha}",
            embedder=declared.embedder or revision(settings.embed_model, self._shared, "sentence-transformers"),
            reranker=declared.reranker or reranker,
            index_revision=declared.index_revision or "none",
            fake=bool(declared.fake),
            extra={"embedder_model": settings.embed_model, "environment": exported(settings, self.knobs)},
        )
        return ResolvedDescription(self.capabilities, provenance, ())

    def _check_knobs(self, source: str) -> None:
        """Refuse a knob that the engine does not read: it would be an ablation of nothing."""
        unread = [
            name for name in ReflectKnobs.model_fields if name not in self.inert("") and variable(name) not in source
        ]
        if unread:
            raise ConfigError(
                [
                    f"arm.knobs.{name}: this recall.py does not read {variable(name)}; take a version that does"
                    for name in unread
                ]
            )

    # --- steps ------------------------------------------------------------------------------------------------------

    async def _reset(self, ns: str) -> None:
        self._forget(ns)
        base = _Base(self._scratch.new())
        for folder in (base.kb / note_files.FOLDER, base.state / "xdg", base.folder / "home"):
            folder.mkdir(parents=True)
        self._bases[ns] = base

    async def _write(self, ns: str, events: Sequence[Event]) -> int:
        base = self._bases[ns]
        base.indexed = False
        for event in events:
            name = note_files.name_of(event, len(base.notes))
            note_files.write(base.kb, name, event)
            base.notes[name] = event
        return 0

    async def _settle(self, ns: str, deadline_s: float) -> None:
        await self._index(self._bases[ns])

    async def _index(self, base: _Base) -> None:
        async with self._indexing:
            if base.indexed or not base.notes:
                return
            await self._reflect(base, "init", self.settings.index_s)
            await self._reflect(base, "reindex --force", self.settings.index_s)
            files = [path for path in (base.kb / _INDEX).rglob("*") if path.is_file()]
            if not any(path.stat().st_size > 2 for path in files):  # `{}` is an index of nothing
                raise BridgeError(
                    "'reflect reindex' ended well and left no index; is reflect-kb installed with [graph]?"
                )
            base.indexed = True

    async def _search(self, ns: str, query: Query) -> Retrieval:
        base = self._bases[ns]
        text = clean(query.text).replace("\0", " ").strip()
        if not base.notes:
            return Retrieval()
        if not text:
            return Retrieval(notes=(EMPTY_QUERY,))
        if not base.indexed:
            await self._index(base)
        limit, chars = query.k or max(1, len(base.notes)), query.max_chars or _ALL
        words = ["--no-cache", "--confidence", "ANY", "--limit", str(limit), "--max-chars", str(chars)]
        # The question last and after `--`: one that begins with a hyphen is no option.
        argv = [self.settings.python, self._script, *words, "--format", "json", "--", text]
        async with self._recalls:
            done = await self._run(
                argv, env=self._env(base), cwd=base.folder / "home", timeout_s=self.settings.timeout_s
            )
        answer = _answer(done)
        hits = [self._hit(base, item) for item in answer["results"]]
        found = within(hits, query)
        return structs.replace(found, notes=(ABSTAINED_MIN_OVERLAP,)) if answer.get("ood_gated") else found

    def _hit(self, base: _Base, item: Any) -> Hit:
        if not isinstance(item, dict) or not isinstance(item.get("id"), str):
            raise BridgeError(f"recall.py answered with a result that has no id: {start_of(str(item), 120)}")
        name = item["id"]
        event = base.notes.get(name)
        if event is None:  # a part of a long note, whose front matter went with another part
            return Hit(key=name, text=note_files.title_of(item))
        body = note_files.read(base.kb, name)
        text = body if body is not None else note_files.title_of(item)
        return Hit(key=event.id, text=text, sources=(event.id,), time=event.time)

    async def _drop_derived(self, ns: str) -> None:
        """Delete everything but the notes: the index, the sidecars, the state."""
        base = self._bases[ns]
        for path in base.kb.iterdir():
            if path.name != note_files.FOLDER:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        for path in (base.kb / note_files.FOLDER).iterdir():
            if not _is_note(base, path):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.rmtree(base.state)
        (base.state / "xdg").mkdir(parents=True)
        base.indexed = False

    async def _erase(self, ns: str) -> None:
        self._forget(ns)

    async def _close(self) -> None:
        self._bases.clear()
        self._scratch.remove()

    # --- helpers ----------------------------------------------------------------------------------------------------

    def _batch(self) -> int:
        return 10_000

    def _sendable(self, event: Event) -> Event:
        text, actor = clean(event.text), clean(event.actor)
        return event if (text, actor) == (event.text, event.actor) else structs.replace(event, text=text, actor=actor)

    def _forget(self, ns: str) -> None:
        base = self._bases.pop(ns, None)
        if base is not None:
            shutil.rmtree(base.folder, ignore_errors=True)

    async def _reflect(self, base: _Base, words: str, timeout_s: float) -> Finished:
        argv = [self._command, *words.split()]
        return await self._run(argv, env=self._env(base), cwd=base.folder, timeout_s=timeout_s)

    async def _run(self, argv: Sequence[str], *, env: Mapping[str, str], cwd: Path, timeout_s: float) -> Finished:
        try:
            child = await Child.start(argv, env=env, cwd=cwd, guarded=True)
        except OSError as error:
            raise BridgeError(cannot_run(argv[0], error)) from None
        except ValueError as error:  # a NUL inside a word
            raise BridgeError(f"cannot run '{Path(argv[0]).name}' ({error})") from None
        try:
            return await finish(child, f"'{Path(argv[0]).name}'", timeout_s)
        finally:
            await child.kill()

    def _env(self, base: _Base) -> dict[str, str]:
        # `claude -p` is logged in at the user's home; nothing else of reflect has business there.
        home = Path.home() if self.settings.hyde else base.folder / "home"
        return {**self._shared, **folders(base.kb, base.state, home)}


def _is_note(base: _Base, path: Path) -> bool:
    return path.suffix == ".md" and path.stem in base.notes


def _answer(done: Finished) -> dict[str, Any]:
    """Return the JSON of a recall.

    Raises
    ------
    BridgeError
        When it failed: an empty output with exit code 0 is how it tells.
    """
    if not done.out.strip():
        told = _SAID.search(done.stderr)
        raise BridgeError(f"recall.py failed: {told[1]}" if told else f"recall.py printed nothing{done.stderr}")
    try:
        answer = json.loads(done.out)
    except (ValueError, RecursionError):
        raise BridgeError(f"recall.py printed something that is not JSON: {start_of(done.out)}{done.stderr}") from None
    if not isinstance(answer, dict) or not isinstance(answer.get("results"), list):
        raise BridgeError(f"recall.py answered without results: {start_of(done.out)}")
    return answer


SYSTEM = Reflect
